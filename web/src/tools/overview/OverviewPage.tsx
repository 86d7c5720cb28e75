import { tableOf } from "../../api/read";
import type { Finding, Report } from "../../api/types";
import { hrefOf } from "../../state/route";
import { useReport } from "../../state/resource";
import { StepChart } from "../../widgets/chart/StepChart";
import { DamageBanner } from "../../widgets/Headline";
import { Panel } from "../../widgets/Panel";
import { FindingCard } from "../../widgets/Finding";
import { ProvenanceFoot, QualityList, ScopeNote, ValueCards } from "../../widgets/Report";
import { bySeverity } from "../../widgets/evidence";
import { Loaded } from "../../widgets/States";
import { TableStacks } from "../../widgets/table/TableStacks";
import { PageHead } from "../PageHead";
import type { PageProps } from "../pages";
import { Params, paramQuery } from "../Params";
import { stepPoints } from "../steps/points";
import { WaterfallPanel } from "./WaterfallPanel";
import { RunVerdict, TopCauses } from "./TopCauses";
import { ActivityPanel, AllValues, SideBySidePanel, TimeBars, TopOps } from "./panels";

/** What a reader asks for first; all other values are a click away. */
const HEADLINE = ["device_type", "step_time_mean_ps", "flop_share_of_peak", "hbm_share_of_peak", "idle_share_of_active_window"];

/** Tables that the panels show in full. */
const DRAWN = new Set(["rates", "time", "idle", "top_ops"]);

export function OverviewPage({ info }: PageProps) {
  const report = useReport("overview", paramQuery(info));
  return (
    <>
      <PageHead info={info}>
        <Params info={info} />
      </PageHead>
      <Loaded from={report} what="the profile">
        {(data) => <Overview report={data} />}
      </Loaded>
    </>
  );
}

/** A diluted average must be read before the averages. */
function isDilution(finding: Finding): boolean {
  return finding.id === "diluted_averages";
}

function Overview({ report }: { readonly report: Report }) {
  const diluted = report.findings.filter(isDilution);
  const others = report.findings.filter((finding) => !isDilution(finding));
  return (
    <>
      <DamageBanner report={report} />
      <RunVerdict />
      {bySeverity(diluted).map((finding) => (
        <FindingCard finding={finding} report={report} lead />
      ))}
      <ScopeNote report={report} />
      <ValueCards report={report} ids={HEADLINE} />
      <TopCauses />
      {bySeverity(others).map((finding) => (
        <FindingCard finding={finding} report={report} />
      ))}
      <div class="columns">
        <div class="stack">
          <TimeBars table={tableOf(report, "time")} colours="bound" />
          <StepsPanel />
          <SideBySidePanel report={report} />
        </div>
        <div class="stack">
          <WaterfallPanel report={report} />
          <ActivityPanel report={report} />
          <TimeBars table={tableOf(report, "idle")} colours="idle" />
          <TopOps table={tableOf(report, "top_ops")} />
        </div>
      </div>
      <TableStacks tables={report.tables.filter((table) => !DRAWN.has(table.id))} name="overview" />
      <QualityList quality={report.quality} />
      <AllValues report={report} shown={HEADLINE} />
      <ProvenanceFoot report={report} />
    </>
  );
}

/** Step times come from the steps analysis; the overview only sums them up. */
function StepsPanel() {
  const steps = useReport("steps");
  return (
    <Panel
      title="Step times"
      picture="overview-steps"
      actions={
        <a href={hrefOf({ page: "steps" })} data-nav="steps">
          All steps
        </a>
      }
    >
      <Loaded from={steps} what="step times" aside>
        {(data) => <StepChart points={stepPoints(data)} />}
      </Loaded>
    </Panel>
  );
}
