import type { Table } from "../../api/types";
import { formatCell } from "../../base/format";
import { Explained } from "../Explained";

/** A short table of names and words: long words wrap, nothing is cut off. */
export function Facts({ table }: { readonly table: Table }) {
  return (
    <table class="data plain facts">
      <thead>
        <tr>
          {table.columns.map((column) => (
            <th scope="col">
              <Explained doc={column.doc} unit={column.unit} id={column.id} of={column}>
                {column.label}
              </Explained>
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {table.rows.map((row) => (
          <tr>
            {table.columns.map((column, i) => {
              const text = formatCell(row[i] ?? null, column.kind, column.unit);
              return i === 0 ? <th scope="row">{text}</th> : <td>{text}</td>;
            })}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
