import { useMemo, useState } from "preact/hooks";

import { columnIndex, tableOf, textAt } from "../../api/read";
import type { Report, Table } from "../../api/types";
import { formatInt } from "../../base/format";
import { formatSort, parseSort } from "../../base/rows";
import { select as choose, go, view } from "../../state/route";
import { useReport } from "../../state/resource";
import { Panel } from "../../widgets/Panel";
import { Findings, ProvenanceFoot, QualityList, ValueCards } from "../../widgets/Report";
import { RowDetails } from "../../widgets/RowDetails";
import { Lacking, Loaded } from "../../widgets/States";
import { DataTable } from "../../widgets/table/DataTable";
import { TableExport } from "../../widgets/Export";
import { TablePanel } from "../../widgets/table/TablePanel";
import { PageHead } from "../PageHead";
import type { PageProps } from "../pages";
import { Params, paramQuery } from "../Params";
import { TimeTree } from "./TimeTree";
import type { OpName } from "../../widgets/op/card";
import { hasNamesakes, rowKey, rowOf } from "../../widgets/op/named";

export function OpsPage({ info }: PageProps) {
  const report = useReport("ops", paramQuery(info));
  return (
    <>
      <PageHead info={info}>
        <Params info={info} />
      </PageHead>
      <Loaded from={report} what="operations">
        {(data) => <Ops report={data} />}
      </Loaded>
    </>
  );
}

function Ops({ report }: { readonly report: Report }) {
  const table = tableOf(report, "ops") ?? report.tables[0] ?? null;
  return (
    <>
      <Findings report={report} />
      <ValueCards report={report} />
      {table === null || table.rows.length === 0 ? <Lacking>No operations ran in this scope.</Lacking> : <OpsTable table={table} />}
      {report.tables
        .filter((other) => other !== table)
        .map((other) => (
          <TablePanel key={other.id} table={other} name="ops" />
        ))}
      {report.quality.length > 0 && <QualityList quality={report.quality} />}
      <ProvenanceFoot report={report} />
    </>
  );
}

/** The op of a row; null where rows are groups, or what the host ran. */
function opAt(table: Table, row: number): OpName | null {
  const { by = "op", on = "device" } = view.value;
  if (by !== "op" || on !== "device") return null;
  const text = (id: string): string => textAt(table.rows[row], columnIndex(table, id)) ?? "";
  return { name: text("name"), module: text("module") };
}

function OpsTable({ table }: { readonly table: Table }) {
  const [count, setCount] = useState(table.rows.length);
  const filter = view.value["q"] ?? "";
  // A row is named in the URL: indices change with the scope.
  const named = view.value["sel"] ?? "";
  const found = useMemo(() => rowOf(table, named), [table, named]);
  const ambiguous = useMemo(() => hasNamesakes(table), [table]);
  // Several rows may have one name; the one that was picked stays picked.
  const [picked, setPicked] = useState<number | null>(null);
  const selected = picked !== null && named !== "" && rowKey(table, table.rows[picked]) === named ? picked : found >= 0 ? found : null;
  const select = (row: number | null): void => {
    setPicked(row);
    choose("sel", row === null ? "" : rowKey(table, table.rows[row]));
  };
  return (
    <>
      <TimeTree table={table} selected={selected} onSelect={select} />
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
                aria-label="Filter operations; a word with a minus excludes"
                value={filter}
                onInput={(event) => go({ view: { q: event.currentTarget.value } }, "replace")}
              />
              <TableExport table={table} name={`ops-${view.value["by"] ?? "op"}`} />
            </>
          }
        >
          <DataTable
            table={table}
            fill
            second={ambiguous ? "module" : undefined}
            filter={filter}
            sort={parseSort(view.value["sort"])}
            onSort={(key) => go({ view: { sort: key === null ? "" : formatSort(key) } }, "replace")}
            selected={selected}
            onSelect={select}
            onCount={setCount}
          />
        </Panel>
        {selected !== null && <RowDetails table={table} row={selected} onClose={() => select(null)} op={opAt(table, selected)} />}
      </div>
    </>
  );
}
