import { useState } from "preact/hooks";

import type { Table } from "../../api/types";
import { formatInt } from "../../base/format";
import { Panel } from "../Panel";
import { DataTable } from "./DataTable";
import { Facts } from "./Facts";
import { isFacts } from "./layout";
import { TableExport } from "../Export";
import { RowDetails } from "../RowDetails";

/** A table with its title, a filter once it is long enough to want one, and its CSV. */
export function TablePanel({ table, name, note }: { readonly table: Table; readonly name: string; readonly note?: string }) {
  const [filter, setFilter] = useState("");
  const [selected, setSelected] = useState<number | null>(null);
  const row = selected !== null && selected < table.rows.length ? selected : null;
  const long = table.rows.length > 12;
  return (
    <Panel
      title={table.title || table.id}
      note={note ?? (long ? `${formatInt(table.rows.length)} rows` : "")}
      actions={
        <>
          {long && (
            <input
              class="filter"
              type="search"
              placeholder="Filter"
              aria-label={`Filter ${table.title}`}
              value={filter}
              onInput={(event) => setFilter(event.currentTarget.value)}
            />
          )}
          <TableExport table={table} name={`${name}-${table.id}`} />
        </>
      }
      flush
    >
      {isFacts(table) ? <Facts table={table} /> : <DataTable table={table} filter={filter} selected={row} onSelect={setSelected} />}
      {row !== null && <RowDetails table={table} row={row} onClose={() => setSelected(null)} />}
    </Panel>
  );
}
