import { columnIndex, numberAt, tableOf, valueNumber } from "../../api/read";
import type { Report, Table } from "../../api/types";
import { formatDuration } from "../../base/format";
import { go } from "../../state/route";
import { useReport } from "../../state/resource";
import { Findings, ProvenanceFoot, QualityList, ValueCards } from "../../widgets/Report";
import { Loaded } from "../../widgets/States";
import { TablePanel } from "../../widgets/table/TablePanel";
import { Tone } from "../../widgets/Tone";
import { BarPanel } from "../BarPanel";
import { said } from "../bars";
import { PageHead } from "../PageHead";
import type { PageProps } from "../pages";
import { Params, paramQuery } from "../Params";
import { AxesPanel, SizesPanel, SkewPanel } from "./LinkPanels";

const EXPOSED = { id: "exposed_ps", name: "exposed", colour: "var(--m-collective)" };
const HIDDEN = { id: "hidden_ps", name: "hidden behind compute", colour: "var(--idle-0)" };
const STEP = [
  { id: "busy_ps", name: "busy otherwise", colour: "var(--m-compute)" },
  EXPOSED,
  { id: "idle_ps", name: "idle", colour: "var(--m-idle)" },
];
const MOST = 64;
const MOST_OPS = 10;

export function CommPage({ info }: PageProps) {
  const report = useReport("comm", paramQuery(info));
  return (
    <>
      <PageHead info={info}>
        <Params info={info} />
      </PageHead>
      <Loaded from={report} what="collectives">
        {(data) => <Communication report={data} />}
      </Loaded>
    </>
  );
}

function Communication({ report }: { readonly report: Report }) {
  const table = (id: string): Table | null => tableOf(report, id);
  const split = (name: readonly string[], own: Table | null) => ({
    name,
    parts: [EXPOSED, HIDDEN],
    ...(own === null ? {} : { text: (row: Table["rows"][number]) => said(own, row, "exposed_ps", "exposed_share") }),
  });
  return (
    <>
      <Findings report={report} />
      <ValueCards report={report} />
      <BarPanel
        table={table("devices")}
        spec={{ name: ["device"], parts: STEP, most: MOST }}
        title="Where the steps go, by device"
        note="a click on a name makes that device the scope"
        what="devices"
        picture="comm-devices"
        onPick={(devices) => go({ scope: { devices } })}
      >
        <Identity report={report} />
      </BarPanel>
      <div class="columns">
        <div class="stack">
          <BarPanel
            table={table("kinds")}
            spec={split(["kind"], table("kinds"))}
            title="By kind of collective"
            note="per step; the number is the exposed time"
            what="kinds"
            picture="comm-kinds"
          />
          <AxesPanel table={table("axes")} />
          <SizesPanel table={table("sizes")} />
        </div>
        <div class="stack">
          <BarPanel
            table={table("ops")}
            spec={{ ...split(["op"], table("ops")), most: MOST_OPS }}
            title="Collectives, by exposed time"
            note="a step"
            what="ops"
            picture="comm-ops"
            onPick={(sel) => go({ page: "ops", view: { sel } })}
          />
          <SkewPanel table={table("skew")} />
        </div>
      </div>
      {report.tables.map((one) => (
        <TablePanel key={one.id} table={one} name="comm" />
      ))}
      {report.quality.length > 0 && <QualityList quality={report.quality} />}
      <ProvenanceFoot report={report} />
    </>
  );
}

/** Busy, exposed and idle are all of a step: what they miss of it is said, and should be nothing. */
function Identity({ report }: { readonly report: Report }) {
  const devices = tableOf(report, "devices");
  const column = devices === null ? -1 : columnIndex(devices, "residual_ps");
  const residuals = (devices?.rows ?? []).map((row) => numberAt(row, column));
  const largest = residuals.reduce<number | null>((most, one) => (one === null ? most : Math.max(most ?? 0, Math.abs(one))), null);
  const residual = largest ?? valueNumber(report, "identity_residual_ps");
  if (residual === null) return null;
  const holds = residual === 0;
  return (
    <p class="identity">
      <Tone word={holds ? "adds up" : "does not add up"} tone={holds ? "good" : "bad"} />{" "}
      {holds
        ? "busy + exposed + idle is the step, on every device"
        : `busy + exposed + idle misses the step by up to ${formatDuration(residual)}`}
    </p>
  );
}
