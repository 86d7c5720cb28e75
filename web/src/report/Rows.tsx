/** A report's table as plain rows: it prints, and a reader without scripts' comforts can search it. */

import { useState } from "preact/hooks";

import { cellText, isNumeric } from "../api/read";
import type { Table } from "../api/types";
import { formatInt } from "../base/format";
import { Panel } from "../widgets/Panel";
import { knownColumns } from "../widgets/table/layout";

const FIRST = 20;

export function Rows({ table, inAll }: { readonly table: Table; readonly inAll: number | undefined }) {
  const [all, setAll] = useState(false);
  const shown = all ? table.rows : table.rows.slice(0, FIRST);
  const columns = knownColumns(table.columns, table.rows);
  const note = inAll === undefined ? undefined : `the first ${formatInt(table.rows.length)} of ${formatInt(inAll)} rows`;
  return (
    <Panel title={table.title || table.id} {...(note === undefined ? {} : { note })} flush>
      <div class="rows" tabIndex={0} role="region" aria-label={table.title || table.id}>
        <table class="data plain">
          <thead>
            <tr>
              {columns.map((i) => {
                const column = table.columns[i];
                return column === undefined ? null : (
                  <th scope="col" class={isNumeric(column) ? "num" : ""} title={column.doc}>
                    {column.label}
                  </th>
                );
              })}
            </tr>
          </thead>
          <tbody>
            {shown.map((row) => (
              <tr>
                {columns.map((i) => {
                  const column = table.columns[i];
                  if (column === undefined) return null;
                  const text = cellText(table.columns, row, i);
                  return <td class={`${isNumeric(column) ? "num" : ""}${row[i] === null ? " unknown" : ""}`}>{text}</td>;
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {table.rows.length > FIRST && (
        <p class="rows-more">
          <button type="button" class="quiet" aria-expanded={all} onClick={() => setAll(!all)}>
            {all ? `Show the first ${FIRST}` : `Show all ${formatInt(table.rows.length)} rows`}
          </button>
        </p>
      )}
    </Panel>
  );
}
