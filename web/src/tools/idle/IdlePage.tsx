import { useState } from "preact/hooks";

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
import { DataTable } from "../../widgets/table/DataTable";
import { downloadCsv } from "../../widgets/table/download";
import { TablePanel } from "../../widgets/table/TablePanel";
import { Tabs } from "../../widgets/Tabs";
import { PageHead } from "../PageHead";
import type { PageProps } from "../pages";
import { Params, paramQuery } from "../Params";
import { partsOf } from "../time/classes";
import type { Whole } from "./waterfall";
import { waterfall } from "./waterfall";
import { WaterfallChart } from "./WaterfallChart";

const WHOLES = [
  { id: "capture", label: "Of the capture" },
  { id: "active", label: "Of the active window" },
];
const MOST_DEVICES = 64;

export function IdlePage({ info }: PageProps) {
  const report = useReport("idle", paramQuery(info));
  return (
    <>
      <PageHead info={info}>
        <Params info={info} />
      </PageHead>
      <Loaded from={report} what="where the time went">
        {(data) => <Idle report={data} />}
      </Loaded>
    </>
  );
}

function Idle({ report }: { readonly report: Report }) {
  const whole: Whole = view.value["of"] === "active" ? "active" : "capture";
  const table = tableOf(report, "waterfall");
  const gaps = tableOf(report, "gaps");
  return (
    <>
      <Findings report={report} />
      <ValueCards report={report} />
      <Panel
        title="Where the time goes"
        note="mean over devices; each bar begins where the one above ends"
        actions={
          <Tabs
            label="Share of"
            tabs={WHOLES}
            selected={whole}
            onSelect={(id) => go({ view: { of: id === "active" ? id : "" } }, "replace")}
          />
        }
      >
        <WaterfallChart falls={waterfall(table, whole)} />
      </Panel>
      <DevicesPanel table={tableOf(report, "devices")} whole={whole} />
      {gaps !== null && gaps.rows.length > 0 && <GapsPanel table={gaps} />}
      {table !== null && <TablePanel table={table} name="idle" />}
      {report.quality.length > 0 && <QualityList quality={report.quality} />}
      <ProvenanceFoot report={report} />
    </>
  );
}

/** One stacked bar a device; a click makes it the scope. */
function DevicesPanel({ table, whole }: { readonly table: Table | null; readonly whole: Whole }) {
  if (table === null || table.rows.length === 0) return null;
  const name = columnIndex(table, "device");
  const rows = table.rows.slice(0, MOST_DEVICES).map((row) => {
    const parts = partsOf(table, row).filter((part) => whole === "capture" || !part.of.outside);
    const all = parts.reduce((sum, part) => sum + part.ps, 0);
    const working = parts.filter((part) => part.of.group === "working").reduce((sum, part) => sum + part.ps, 0);
    return {
      name: textAt(row, name) ?? "",
      parts: parts.map((part) => ({ name: part.of.name, value: part.ps, text: formatDuration(part.ps), colour: part.of.colour })),
      text: all > 0 ? formatShare(working / all) : "unknown",
    };
  });
  const full = Math.max(...rows.map((row) => row.parts.reduce((sum, part) => sum + part.value, 0)));
  const most = table.rows.length > MOST_DEVICES ? `first ${MOST_DEVICES} of ${table.rows.length} devices; ` : "";
  return (
    <Panel title="By device" note={`${most}share is working time; a click on a name makes that device the scope`}>
      <Bars rows={rows} full={full} legend onPick={(device) => go({ scope: { devices: device } })} />
    </Panel>
  );
}

function GapsPanel({ table }: { readonly table: Table }) {
  const [selected, setSelected] = useState<number | null>(null);
  const cells = selected === null ? undefined : table.rows[selected];
  const start = numberAt(cells, columnIndex(table, "start_ps"));
  const end = numberAt(cells, columnIndex(table, "end_ps"));
  return (
    <>
      {selected !== null && (
        <RowDetails
          table={table}
          row={selected}
          onClose={() => setSelected(null)}
          actions={
            start !== null &&
            end !== null && (
              <button
                type="button"
                class="quiet"
                onClick={() => go({ page: "timeline", view: { view: formatWindow(start - (end - start), end + (end - start)) } })}
              >
                Show on the timeline
              </button>
            )
          }
        />
      )}
      <Panel
        title={table.title}
        note="a row leads to the timeline"
        flush
        actions={
          <button type="button" class="quiet" onClick={() => downloadCsv(table, "idle-gaps")}>
            CSV
          </button>
        }
      >
        <DataTable table={table} selected={selected} onSelect={setSelected} />
      </Panel>
    </>
  );
}
