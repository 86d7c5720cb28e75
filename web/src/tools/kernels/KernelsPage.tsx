import { useMemo, useState } from "preact/hooks";

import { columnIndex, numberAt, tableOf, textAt } from "../../api/read";
import type { Report, Table } from "../../api/types";
import { formatDuration, formatInt } from "../../base/format";
import { formatSort, parseSort } from "../../base/rows";
import { go, view } from "../../state/route";
import { useReport } from "../../state/resource";
import { Panel } from "../../widgets/Panel";
import { Findings, ProvenanceFoot, QualityList, ValueCards } from "../../widgets/Report";
import { RowDetails } from "../../widgets/RowDetails";
import { Empty, Loaded } from "../../widgets/States";
import { DataTable } from "../../widgets/table/DataTable";
import { downloadCsv } from "../../widgets/table/download";
import { Tabs } from "../../widgets/Tabs";
import { PageHead } from "../PageHead";
import type { PageProps } from "../pages";
import { Params, paramQuery } from "../Params";
import { lengthBars } from "./histogram";
import { LengthChart } from "./LengthChart";

export function KernelsPage({ info }: PageProps) {
  const report = useReport("kernels", paramQuery(info));
  return (
    <>
      <PageHead info={info}>
        <Params info={info} />
      </PageHead>
      <Loaded from={report} what="kernels">
        {(data) => <Kernels report={data} />}
      </Loaded>
    </>
  );
}

function Kernels({ report }: { readonly report: Report }) {
  const table = tableOf(report, "kernels");
  const [selected, setSelected] = useState<number | null>(null);
  const picked = table !== null && selected !== null && selected < table.rows.length ? selected : null;
  return (
    <>
      <Findings report={report} />
      <ValueCards report={report} />
      <Lengths report={report} table={table} selected={picked} />
      {table === null || table.rows.length === 0 ? (
        <Empty>No kernel ran in this scope.</Empty>
      ) : (
        <KernelTable table={table} selected={picked} onSelect={setSelected} />
      )}
      {report.quality.length > 0 && <QualityList quality={report.quality} />}
      <ProvenanceFoot report={report} />
    </>
  );
}

function Lengths({ report, table, selected }: { readonly report: Report; readonly table: Table | null; readonly selected: number | null }) {
  const bars = useMemo(() => lengthBars(tableOf(report, "durations")), [report]);
  if (bars.length === 0) return null;
  const of = view.value["of"] === "time" ? "time" : "count";
  const row = table === null || selected === null ? undefined : table.rows[selected];
  const at = (id: string): number | null => (table === null ? null : numberAt(row, columnIndex(table, id)));
  const [min, mean, max] = [at("min_ps"), at("mean_ps"), at("max_ps")];
  const name = table === null ? null : textAt(row, columnIndex(table, "name"));
  const mark = min === null || mean === null || max === null || name === null ? null : { name, min, mean, max };
  return (
    <Panel
      title="Executions by length"
      note={
        mark === null
          ? "select a kernel to mark its executions"
          : `${mark.name}: ${formatDuration(min ?? 0)} to ${formatDuration(max ?? 0)}`
      }
      actions={
        <Tabs
          label="Bars show"
          tabs={[
            { id: "count", label: "Executions" },
            { id: "time", label: "Time" },
          ]}
          selected={of}
          onSelect={(id) => go({ view: { of: id === "count" ? "" : id } }, "replace")}
        />
      }
    >
      <LengthChart bars={bars} of={of} mark={mark} />
    </Panel>
  );
}

interface KernelTableProps {
  readonly table: Table;
  readonly selected: number | null;
  readonly onSelect: (row: number | null) => void;
}

function KernelTable({ table, selected, onSelect }: KernelTableProps) {
  const [count, setCount] = useState(table.rows.length);
  const row = selected === null ? undefined : table.rows[selected];
  const name = textAt(row, columnIndex(table, "name"));
  // Custom calls are ops under the same name; GPU kernels are events under theirs.
  const isOp = textAt(row, columnIndex(table, "what")) !== "GPU kernel";
  return (
    <div class={selected === null ? "split" : "split open"}>
      <Panel
        title={table.title}
        note={count === table.rows.length ? `${formatInt(count)} rows` : `${formatInt(count)} of ${formatInt(table.rows.length)} rows`}
        flush
        class="grow"
        actions={
          <>
            <input
              class="filter"
              type="search"
              placeholder="Filter: words, -not"
              aria-label="Filter kernels; a word with a minus excludes"
              value={view.value["q"] ?? ""}
              onInput={(event) => go({ view: { q: event.currentTarget.value } }, "replace")}
            />
            <button type="button" class="quiet" onClick={() => downloadCsv(table, "kernels")}>
              CSV
            </button>
          </>
        }
      >
        <DataTable
          table={table}
          fill
          filter={view.value["q"] ?? ""}
          sort={parseSort(view.value["sort"])}
          onSort={(key) => go({ view: { sort: key === null ? "" : formatSort(key) } }, "replace")}
          selected={selected}
          onSelect={onSelect}
          onCount={setCount}
        />
      </Panel>
      {selected !== null && (
        <RowDetails
          table={table}
          row={selected}
          onClose={() => onSelect(null)}
          actions={
            name === null ? null : (
              <>
                {isOp && (
                  <button type="button" onClick={() => go({ page: "ops", view: { sel: name } })}>
                    Op
                  </button>
                )}
                <button type="button" onClick={() => go({ page: "timeline", view: { q: name } })}>
                  Timeline
                </button>
              </>
            )
          }
        />
      )}
    </div>
  );
}
