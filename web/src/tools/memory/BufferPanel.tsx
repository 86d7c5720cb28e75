import { useState } from "preact/hooks";

import { columnIndex, textAt } from "../../api/read";
import type { Table } from "../../api/types";
import { formatInt } from "../../base/format";
import { formatSort, parseSort } from "../../base/rows";
import { select as choose, go, view } from "../../state/route";
import { Panel } from "../../widgets/Panel";
import { RowDetails } from "../../widgets/RowDetails";
import { DataTable } from "../../widgets/table/DataTable";
import { TableExport } from "../../widgets/Export";
import { bufferRow, instructionOf } from "./parts";

export interface BufferPanelProps {
  readonly table: Table;
  readonly name: string;
  readonly note?: string;
  /** Whether this table's rows are what the address' `buffer` picks. */
  readonly picks?: boolean;
}

/** A table of buffers; each leads to its instruction in the graph. */
export function BufferPanel({ table, name, note, picks = false }: BufferPanelProps) {
  const [own, setOwn] = useState<number | null>(null);
  const [filter, setFilter] = useState("");
  const column = columnIndex(table, "instruction", "name", "buffer");
  const asked = picks ? bufferRow(table, view.value["buffer"] ?? "") : (own ?? -1);
  const selected = asked >= 0 && asked < table.rows.length ? asked : null;
  const select = (row: number | null): void => {
    if (picks) choose("buffer", row === null ? "" : (textAt(table.rows[row], column) ?? ""));
    else setOwn(row);
  };
  const instruction = selected === null || column < 0 ? "" : instructionOf(textAt(table.rows[selected], column) ?? "");
  return (
    <div class={selected === null ? "split" : "split open"}>
      <Panel
        title={table.title || table.id}
        note={note ?? `${formatInt(table.rows.length)} rows`}
        flush
        actions={
          <>
            {table.rows.length > 12 && (
              <input
                class="filter"
                type="search"
                placeholder="Filter: words, -not"
                aria-label={`Filter ${table.title}; a word with a minus excludes`}
                value={filter}
                onInput={(event) => setFilter(event.currentTarget.value)}
              />
            )}
            <TableExport table={table} name={`${name}-${table.id}`} />
          </>
        }
      >
        <DataTable
          table={table}
          filter={filter}
          {...(picks
            ? {
                sort: parseSort(view.value["sort"]),
                onSort: (key) => go({ view: { sort: key === null ? "" : formatSort(key) } }, "replace"),
              }
            : {})}
          selected={selected}
          onSelect={select}
        />
      </Panel>
      {selected !== null && (
        <RowDetails
          table={table}
          row={selected}
          onClose={() => select(null)}
          actions={
            instruction !== "" && (
              <button type="button" onClick={() => go({ page: "hlo", view: { module: view.value["module"] ?? "", node: instruction } })}>
                In the graph
              </button>
            )
          }
        />
      )}
    </div>
  );
}
