import { useMemo, useState } from "preact/hooks";

import { columnIndex, numberAt, tableOf, textAt, valueNumber } from "../../api/read";
import type { Report, Table } from "../../api/types";
import { formatDuration, formatShare } from "../../base/format";
import { go } from "../../state/route";
import { useReport } from "../../state/resource";
import { formatWindow } from "../../state/url";
import "../../styles/time.css";
import { Bars } from "../../widgets/chart/Bars";
import { LineChart } from "../../widgets/chart/LineChart";
import { Panel } from "../../widgets/Panel";
import { Findings, ProvenanceFoot, QualityList, ValueCards } from "../../widgets/Report";
import { RowDetails } from "../../widgets/RowDetails";
import { Loaded } from "../../widgets/States";
import { TablePanel } from "../../widgets/table/TablePanel";
import { Nothing } from "../time/Nothing";
import { PageHead } from "../PageHead";
import type { PageProps } from "../pages";
import { Params, paramQuery } from "../Params";
import { Histogram } from "./Histogram";
import { binsFor, histogram, latencies, phaseColour, requestBars } from "./latency";

const MOST_BARS = 24;
const MARKS = [
  { id: "latency_p50_ps", label: "median" },
  { id: "latency_p90_ps", label: "90%" },
  { id: "latency_p99_ps", label: "99%" },
];

export function InferencePage({ info }: PageProps) {
  const report = useReport("inference", paramQuery(info));
  return (
    <>
      <PageHead info={info}>
        <Params info={info} />
      </PageHead>
      <Loaded from={report} what="requests">
        {(data) => <Inference report={data} />}
      </Loaded>
    </>
  );
}

function Inference({ report }: { readonly report: Report }) {
  const requests = tableOf(report, "requests");
  const times = useMemo(() => latencies(requests), [requests]);
  const served = report.tables.some((table) => (table.id === "requests" || table.id === "batches") && table.rows.length > 0);
  if (!served) return <Nothing report={report} id="no_requests" />;
  const marks = MARKS.flatMap(({ id, label }) => {
    const value = valueNumber(report, id);
    return value === null ? [] : [{ label, value }];
  });
  const all = valueNumber(report, "request_count");
  const part = all !== null && all > times.length ? `the slowest ${times.length} of ${all} requests` : "";
  return (
    <>
      <Findings report={report} />
      <ValueCards report={report} />
      <div class="columns">
        <Panel title="Latency" note={part}>
          <Histogram label="Latency of requests" bins={histogram(times, binsFor(times.length))} marks={marks} />
        </Panel>
        {report.series.map((series) => (
          <Panel key={series.id} title={series.title}>
            <LineChart series={series} />
          </Panel>
        ))}
        <PhasesPanel table={tableOf(report, "phases")} />
      </div>
      {requests !== null && requests.rows.length > 0 && <RequestsPanel table={requests} />}
      {report.tables
        .filter((table) => table.rows.length > 0)
        .map((table) => (
          <TablePanel key={table.id} table={table} name="inference" />
        ))}
      {report.quality.length > 0 && <QualityList quality={report.quality} />}
      <ProvenanceFoot report={report} />
    </>
  );
}

function PhasesPanel({ table }: { readonly table: Table | null }) {
  if (table === null || table.rows.length === 0) return null;
  const [time, share] = [columnIndex(table, "mean_ps"), columnIndex(table, "share")];
  const rows = table.rows.flatMap((row) => {
    const ps = numberAt(row, time);
    const name = textAt(row, 0) ?? "";
    const of = numberAt(row, share);
    if (ps === null || ps <= 0) return [];
    const text = formatDuration(ps, 3);
    return [
      { name, parts: [{ name, value: ps, text, colour: phaseColour(name) }], text: of === null ? text : `${text} · ${formatShare(of)}` },
    ];
  });
  return (
    <Panel title={table.title} note="mean over requests">
      <Bars rows={rows} full={Math.max(0, ...rows.map((row) => row.parts[0]?.value ?? 0))} />
    </Panel>
  );
}

/** The slowest requests, phase by phase. */
function RequestsPanel({ table }: { readonly table: Table }) {
  const [selected, setSelected] = useState<number | null>(null);
  const bars = requestBars(table, MOST_BARS);
  const cells = selected === null ? undefined : table.rows[selected];
  const [start, end] = [numberAt(cells, columnIndex(table, "start_ps")), numberAt(cells, columnIndex(table, "end_ps"))];
  return (
    <>
      {selected !== null && (
        <RowDetails
          table={table}
          row={selected}
          onClose={() => setSelected(null)}
          actions={
            start !== null &&
            end !== null &&
            end > start && (
              <button type="button" class="quiet" onClick={() => go({ page: "timeline", view: { view: formatWindow(start, end) } })}>
                Show on the timeline
              </button>
            )
          }
        />
      )}
      <Panel
        title="Slowest requests by phase"
        note={
          table.rows.length > MOST_BARS
            ? `${MOST_BARS} of ${table.rows.length}; a click on a name tells more`
            : "a click on a name tells more"
        }
      >
        <Bars
          legend
          full={Math.max(...bars.map((bar) => bar.latency))}
          rows={bars.map((bar) => ({
            name: bar.name,
            key: String(bar.row),
            parts: bar.parts.map(({ phase, ps }) => ({ name: phase.name, value: ps, text: formatDuration(ps), colour: phase.colour })),
            text: formatDuration(bar.latency, 3),
          }))}
          onPick={(row) => setSelected(Number(row))}
        />
      </Panel>
    </>
  );
}
