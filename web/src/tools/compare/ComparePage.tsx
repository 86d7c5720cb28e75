import { tableOf } from "../../api/read";
import type { Report } from "../../api/types";
import { go, hrefOf, view } from "../../state/route";
import { useAnalyses, useReport } from "../../state/resource";
import { runId } from "../../state/runs";
import "../../styles/compare.css";
import { FindingCard } from "../../widgets/Finding";
import { Panel } from "../../widgets/Panel";
import { ProvenanceFoot, QualityList, ScopeNote, ValueCards } from "../../widgets/Report";
import { bySeverity } from "../../widgets/evidence";
import { Loaded } from "../../widgets/States";
import { Tabs } from "../../widgets/Tabs";
import { TablePanel } from "../../widgets/table/TablePanel";
import { PageHead } from "../PageHead";
import type { PageProps } from "../pages";
import { Params, paramQuery } from "../Params";
import { experimentsOf, pickedOf } from "./address";
import { partShown, tablesOf } from "./columns";
import { furtherOf } from "./further";
import { MetricsPanel } from "./MetricsPanel";
import { OpsPanel } from "./OpsPanel";
import { ChooseRun } from "./ChooseRun";
import { RunsBar, chooseExperiment, runName } from "./RunsBar";
import { RunStrip } from "./RunStrip";
import { StepsPanel } from "./StepsPanel";
import { TreesPanel } from "./TreesPanel";
import { VerdictBox } from "./VerdictBox";
import { isNotComparable, otherFindings } from "./verdict";
import { WaterfallPanel } from "./WaterfallPanel";

/** Values that the verdict says in words. */
const SAID = new Set([
  "verdict",
  "verdict_why",
  "verdict_says",
  "verdict_by",
  "step_delta_interval_ps",
  "usual_delta_ps",
  "usual_delta_low_ps",
  "usual_delta_high_ps",
  "margin_share",
  "same_low_ps",
  "same_high_ps",
  "steps_to_decide",
]);

/** Parameters that parts of the page set. */
const OWN = ["force", "pick"];

export function ComparePage({ info }: PageProps) {
  const chosen = experimentsOf(view.value["other"]);
  return (
    <>
      <PageHead info={info}>{chosen.length > 0 && <Params info={{ ...info, others: null }} leave={OWN} />}</PageHead>
      <RunsBar many={info.takes_many === true} />
      {chosen.length === 0 ? (
        <ChooseRun what="Choose the run to compare with the baseline" onChoose={chooseExperiment} />
      ) : (
        <Compared info={info} chosen={chosen} />
      )}
    </>
  );
}

function Compared({ info, chosen }: Pick<PageProps, "info"> & { readonly chosen: readonly string[] }) {
  const report = useReport("compare", paramQuery(info));
  const picked = pickedOf(chosen, view.value["pick"]);
  return (
    <Loaded from={report} what="both runs">
      {(data) => (
        <Comparison report={data} chosen={chosen} picked={picked} baseline={runId.value ?? ""} experiment={chosen[picked] ?? ""} />
      )}
    </Loaded>
  );
}

interface ComparisonProps {
  readonly report: Report;
  readonly chosen: readonly string[];
  readonly picked: number;
  readonly baseline: string;
  readonly experiment: string;
}

function Comparison({ report, chosen, picked, baseline, experiment }: ComparisonProps) {
  return (
    <>
      <RunStrip report={report} names={chosen.map(runName)} picked={picked} />
      <VerdictBox report={report} baseline={baseline} experiment={experiment} />
      <div class="columns">
        {hasParts(report) && (
          <div class="stack">
            <WaterfallPanel report={report} />
          </div>
        )}
        <div class="stack">
          <StepsPanel report={report} runs={{ baseline, experiment }} />
        </div>
      </div>
      <Further baseline={baseline} experiment={experiment} />
      <MetricsPanel report={report} name="compare" />
      <FindingList report={report} />
      <Parts report={report} baseline={baseline} experiment={experiment} />
      <ScopeNote report={report} />
      <ValueCards report={report} ids={Object.keys(report.values).filter((id) => !SAID.has(id))} />
      {report.quality.length > 0 && <QualityList quality={report.quality} />}
      <ProvenanceFoot report={report} />
    </>
  );
}

/** Of runs that are not comparable the change has no parts. */
function hasParts(report: Report): boolean {
  return (tableOf(report, "waterfall")?.rows.length ?? 0) > 0;
}

function Further({ baseline, experiment }: { readonly baseline: string; readonly experiment: string }) {
  const analyses = useAnalyses().data?.analyses ?? [];
  return (
    <Panel title="Look further">
      <ul class="compare-further">
        {furtherOf(baseline, experiment, analyses).map((way) => (
          <li key={way.label}>
            <a href={hrefOf(way.to)} data-nav="compare">
              {way.label}
            </a>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

/** Findings shown at once; the verdict itself stands above. */
const MOST = 3;

function FindingList({ report }: { readonly report: Report }) {
  const findings = bySeverity(otherFindings(report));
  const card = (finding: Report["findings"][number]) => (
    <FindingCard key={`${finding.id} ${finding.claim}`} finding={finding} report={report} />
  );
  if (findings.length === 0) return null;
  return (
    <section class="facts-list" aria-labelledby="compare-findings">
      <h2 id="compare-findings">Findings</h2>
      {findings.slice(0, MOST).map(card)}
      {findings.length > MOST && (
        <details class="provenance">
          <summary>{findings.length === MOST + 1 ? "1 more" : `${findings.length - MOST} more`}</summary>
          <div class="stack">{findings.slice(MOST).map(card)}</div>
        </details>
      )}
    </section>
  );
}

const PARTS = [
  { id: "ops", label: "Ops" },
  { id: "names", label: "Scopes and classes" },
  { id: "trees", label: "Op profiles" },
  { id: "memory", label: "Memory" },
  { id: "program", label: "Programs" },
  { id: "facts", label: "Facts" },
] as const;

interface PartsProps {
  readonly report: Report;
  readonly baseline: string;
  readonly experiment: string;
}

function Parts({ report, baseline, experiment }: PartsProps) {
  const filled = PARTS.filter(({ id }) => id === "trees" || tablesOf(report.tables, id).length > 0);
  // Of runs that are not comparable one wants to know what differs.
  const parts = isNotComparable(report) ? [...filled].reverse() : filled;
  const part = partShown(
    view.value["tab"],
    view.value["mark"],
    parts.map(({ id }) => id),
  );
  const ops = tableOf(report, "ops");
  const first = parts[0]?.id ?? "";
  return (
    <>
      <Tabs
        label="What to compare"
        tabs={parts}
        selected={part}
        onSelect={(id) => go({ view: { tab: id === first ? "" : id, mark: "" } })}
      />
      {part === "ops" && ops !== null && ops.rows.length > 0 && <OpsPanel table={ops} baseline={baseline} experiment={experiment} />}
      {part === "trees" && (
        <TreesPanel runs={{ baseline, experiment }} names={{ baseline: runName(baseline), experiment: runName(experiment) }} />
      )}
      {tablesOf(report.tables, part)
        .filter((table) => table.id !== "ops")
        .map((table) => (
          <TablePanel key={table.id} table={table} name="compare" />
        ))}
    </>
  );
}
