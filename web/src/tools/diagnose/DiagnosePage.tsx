import { tableOf, valueText } from "../../api/read";
import type { Report, Value } from "../../api/types";
import { hrefOf, view } from "../../state/route";
import { useReport } from "../../state/resource";
import { TableExport } from "../../widgets/Export";
import { FindingCard } from "../../widgets/Finding";
import { DamageBanner, Headline } from "../../widgets/Headline";
import { Panel } from "../../widgets/Panel";
import { ProvenanceFoot, QualityList, ScopeNote, ValueCards } from "../../widgets/Report";
import { Loaded } from "../../widgets/States";
import { TablePanel } from "../../widgets/table/TablePanel";
import { PageHead } from "../PageHead";
import type { PageProps } from "../pages";
import { Params, paramQuery } from "../Params";
import { CauseList } from "./CauseList";
import { ChecksPanel } from "./CheckList";
import { ProtocolList } from "./ProtocolList";
import { Quadrant } from "./Quadrant";
import { checksOf, parted, protocolOf, quartersOf, verdictCounts } from "./read";
import type { Check } from "./read";

/** Tables that the page draws itself, or places. */
const NO_VALUE: Value = { value: null, unit: "", kind: "share", status: "unknown", label: "", doc: "" };
/** What a reader expects of the program: asked for apart, because few do. */
const EXPECTED = ["dots", "exps", "reduces", "copies", "defensive"];
const PLACED = new Set(["protocol", "causes", "checks", "utilisation", "thresholds"]);

export function DiagnosePage({ info }: PageProps) {
  const report = useReport("diagnose", paramQuery(info));
  return (
    <>
      <PageHead info={info}>
        <Params info={info} leave={EXPECTED} />
      </PageHead>
      <Expected info={info} />
      <Loaded from={report} what="what the run waits for">
        {(data) => <Diagnosis report={data} />}
      </Loaded>
    </>
  );
}

/** Counts that step 3 is held against. */
function Expected({ info }: Pick<PageProps, "info">) {
  const params = info.params.filter((param) => EXPECTED.includes(param.id));
  if (params.length === 0) return null;
  return (
    <details class="more-params" open={params.some((param) => (view.value[param.id] ?? "") !== "")}>
      <summary>What you expect from the program</summary>
      <div class="page-controls">
        <Params info={{ ...info, others: null, params }} />
      </div>
    </details>
  );
}

function Diagnosis({ report }: { readonly report: Report }) {
  const { caveats, causes, facts } = parted(report);
  const checks = checksOf(report);
  const protocol = protocolOf(report);
  const thresholds = tableOf(report, "thresholds");
  return (
    <>
      <DamageBanner report={report} />
      <Headline report={report} />
      {caveats.map((finding) => (
        <FindingCard key={finding.claim} finding={finding} report={report} lead />
      ))}
      <ScopeNote report={report} />
      <Panel
        title="Causes, most expensive first"
        note={causes.length === 0 ? "" : "bar: the most that could be saved, as a share of the time"}
      >
        {causes.length === 0 ? <NoCause report={report} checks={checks} /> : <CauseList causes={causes} report={report} />}
      </Panel>
      <ValueCards report={report} ids={Object.keys(report.values).filter((id) => id !== "verdict")} />
      {protocol.length > 0 && (
        <Panel title="Step by step" note="where to look, in order, and what was seen">
          <ProtocolList steps={protocol} report={report} />
        </Panel>
      )}
      <Utilisation report={report} />
      {facts.length > 0 && (
        <section class="facts-list" aria-labelledby="facts-h">
          <h2 id="facts-h">Worth knowing</h2>
          {facts.map((finding) => (
            <FindingCard key={finding.claim} finding={finding} report={report} />
          ))}
        </section>
      )}
      {checks.length > 0 && <ChecksPanel checks={checks} report={report} />}
      {report.tables
        .filter((table) => !PLACED.has(table.id))
        .map((table) => (
          <TablePanel key={table.id} table={table} name="diagnose" />
        ))}
      {thresholds !== null && <TablePanel table={thresholds} name="diagnose" />}
      {report.quality.length > 0 && <QualityList quality={report.quality} />}
      <ProvenanceFoot report={report} />
    </>
  );
}

/** No cause is an answer too, as far as the profile could tell. */
function NoCause({ report, checks }: { readonly report: Report; readonly checks: readonly Check[] }) {
  const counts = verdictCounts(checks)
    .map(({ verdict, count }) => `${count} ${verdict}`)
    .join(", ");
  const unknown = checks.filter((check) => check.verdict === "unknown").length;
  const limits = tableOf(report, "thresholds") !== null;
  return (
    <>
      <p class="no-cause">
        Nothing costs enough time to be worth a warning
        {limits && (
          <>
            {": "}
            <a href={hrefOf({ view: { mark: "thresholds:worth a warning" } })} data-nav="evidence">
              see the threshold
            </a>
          </>
        )}
        .
      </p>
      {checks.length > 0 && <p class="sub">{`${checks.length} checks: ${counts}.`}</p>}
      {unknown > 0 && (
        <p class="sub">{`${unknown === 1 ? "One of them" : `${unknown} of them`} could not be answered from this profile; see below what each needs.`}</p>
      )}
    </>
  );
}

function Utilisation({ report }: { readonly report: Report }) {
  const table = tableOf(report, "utilisation");
  if (table === null || table.rows.length === 0) return null;
  const quarters = quartersOf(table);
  if (quarters === null) return <TablePanel table={table} name="diagnose" />;
  const share = (id: string): string => valueText(report.values[id] ?? NO_VALUE);
  return (
    <Panel
      title={table.title}
      note={
        quarters.some((one) => one.holds === true)
          ? `FLOP rate ${share("flop_share_of_peak")} of its peak, HBM ${share("hbm_share_of_peak")}`
          : "where this run stands is unknown: FLOPs, bytes or peaks are missing"
      }
      actions={<TableExport table={table} name="diagnose-utilisation" />}
    >
      <Quadrant quarters={quarters} />
    </Panel>
  );
}
