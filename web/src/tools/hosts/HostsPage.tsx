import { useMemo, useState } from "preact/hooks";

import { columnIndex, numberAt, tableOf, textAt } from "../../api/read";
import type { Report, Table } from "../../api/types";
import { formatDuration, formatShare } from "../../base/format";
import { go, view } from "../../state/route";
import { useReport } from "../../state/resource";
import { formatWindow } from "../../state/url";
import "../../styles/time.css";
import { Bars } from "../../widgets/chart/Bars";
import { Panel } from "../../widgets/Panel";
import { Findings, ProvenanceFoot, QualityList, ValueCards } from "../../widgets/Report";
import { RowDetails } from "../../widgets/RowDetails";
import { Loaded } from "../../widgets/States";
import { TablePanel } from "../../widgets/table/TablePanel";
import { Tabs } from "../../widgets/Tabs";
import { PageHead } from "../PageHead";
import type { PageProps } from "../pages";
import { Params, paramQuery } from "../Params";
import { HeatMap } from "./HeatMap";
import type { Shown } from "./heat";
import { heatOf } from "./heat";

const KINDS: readonly { readonly id: Shown; readonly label: string }[] = [
  { id: "duration_ps", label: "Whole step" },
  { id: "work_ps", label: "Work" },
  { id: "wait_ps", label: "Wait" },
  { id: "idle_ps", label: "Idle" },
];
const MOST_DEVICES = 64;

export function HostsPage({ info }: PageProps) {
  const report = useReport("hosts", paramQuery(info));
  return (
    <>
      <PageHead info={info}>
        <Params info={info} />
      </PageHead>
      <Loaded from={report} what="steps by device">
        {(data) => <Hosts report={data} />}
      </Loaded>
    </>
  );
}

function Hosts({ report }: { readonly report: Report }) {
  const devices = tableOf(report, "devices");
  return (
    <>
      <Findings report={report} />
      <ValueCards report={report} />
      <HeatPanel report={report} stragglers={stragglers(devices)} />
      <DevicesPanel table={devices} />
      {report.tables.map((table) => (
        <TablePanel key={table.id} table={table} name="hosts" />
      ))}
      {report.quality.length > 0 && <QualityList quality={report.quality} />}
      <ProvenanceFoot report={report} />
    </>
  );
}

function stragglers(devices: Table | null): Set<string> {
  if (devices === null) return new Set();
  const [name, flag] = [columnIndex(devices, "device"), columnIndex(devices, "straggler")];
  return new Set(devices.rows.filter((row) => row[flag] === true).map((row) => textAt(row, name) ?? ""));
}

function HeatPanel({ report, stragglers: marked }: { readonly report: Report; readonly stragglers: ReadonlySet<string> }) {
  const [selected, setSelected] = useState<number | null>(null);
  const table = tableOf(report, "steps");
  // Steps take as long everywhere where collectives make them equal: work tells devices apart.
  const shown = KINDS.find((kind) => kind.id === view.value["show"])?.id ?? "work_ps";
  const heat = useMemo(() => heatOf(table, shown), [table, shown]);
  if (table === null || heat === null) return null;
  const name = (KINDS.find((kind) => kind.id === shown)?.label ?? "").toLowerCase();
  return (
    <>
      <Panel
        title="Steps by device"
        note={`${name} in each step; one row per device, one column per step`}
        actions={<Tabs label="What to show" tabs={KINDS} selected={shown} onSelect={(id) => go({ view: { show: id } }, "replace")} />}
      >
        <HeatMap label={`Steps by device: ${name}`} heat={heat} marked={marked} selected={selected} onPick={setSelected} />
      </Panel>
      {selected !== null && (
        <RowDetails table={table} row={selected} onClose={() => setSelected(null)} actions={<CellActions table={table} row={selected} />} />
      )}
    </>
  );
}

/** From one cell to the rest of the page. */
function CellActions({ table, row }: { readonly table: Table; readonly row: number }) {
  const cells = table.rows[row];
  const step = textAt(cells, columnIndex(table, "step")) ?? "";
  const device = textAt(cells, columnIndex(table, "device")) ?? "";
  const start = numberAt(cells, columnIndex(table, "start_ps"));
  const end = numberAt(cells, columnIndex(table, "end_ps"));
  return (
    <>
      {/^\d+$/.test(step) && (
        <button type="button" class="quiet" onClick={() => go({ scope: { steps: step } })}>
          Scope to this step
        </button>
      )}
      <button type="button" class="quiet" onClick={() => go({ scope: { devices: device } })}>
        Scope to this device
      </button>
      {start !== null && end !== null && end > start && (
        <button type="button" class="quiet" onClick={() => go({ page: "timeline", view: { view: formatWindow(start, end) } })}>
          Show on the timeline
        </button>
      )}
    </>
  );
}

const PARTS = [
  { id: "work_ps", name: "work", colour: "var(--m-compute)" },
  { id: "wait_ps", name: "wait", colour: "var(--m-collective)" },
  { id: "idle_ps", name: "idle", colour: "var(--m-idle)" },
];

function DevicesPanel({ table }: { readonly table: Table | null }) {
  if (table === null || table.rows.length === 0) return null;
  const [name, flag, cost] = [columnIndex(table, "device"), columnIndex(table, "straggler"), columnIndex(table, "cost_share")];
  const rows = table.rows.slice(0, MOST_DEVICES).map((row) => {
    const device = textAt(row, name) ?? "";
    const parts = PARTS.flatMap((part) => {
      const ps = numberAt(row, columnIndex(table, part.id));
      return ps === null ? [] : [{ name: part.name, value: ps, text: formatDuration(ps), colour: part.colour }];
    });
    const share = numberAt(row, cost);
    return {
      name: row[flag] === true ? `▲ ${device}` : device,
      key: device,
      ...(row[flag] === true ? { note: `straggler, costs ${share === null ? "unknown" : formatShare(share)} of a step` } : {}),
      parts,
      text: formatDuration(
        parts.reduce((sum, part) => sum + part.value, 0),
        3,
      ),
    };
  });
  const full = Math.max(...rows.map((row) => row.parts.reduce((sum, part) => sum + part.value, 0)));
  const most = table.rows.length > MOST_DEVICES ? `first ${MOST_DEVICES} of ${table.rows.length} devices; ` : "";
  return (
    <Panel title="Mean step on each device" note={`${most}mean over steps; a click on a name makes that device the scope`}>
      <Bars rows={rows} full={full} legend onPick={(device) => go({ scope: { devices: device } })} />
    </Panel>
  );
}
