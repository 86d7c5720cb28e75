import type { ComponentChildren } from "preact";

import { cellText, isNumeric } from "../api/read";
import type { Table } from "../api/types";
import { go } from "../state/route";
import { Explained } from "./Explained";
import type { OpName } from "./op/card";
import { opOfRow } from "./op/card";
import { OpSummary } from "./op/OpSummary";
import { Panel } from "./Panel";
import { rowActions } from "./rowScope";

export interface RowDetailsProps {
  readonly table: Table;
  readonly row: number;
  /** Absent where the details belong to the page. */
  readonly onClose?: () => void;
  /** What can be done with this row. */
  readonly actions?: ComponentChildren;
  /** The op that the row is about, where its columns alone do not say so. */
  readonly op?: OpName | null;
}

/** Every column of one row, with what each means, and what the row can become the scope of. */
export function RowDetails({ table, row, onClose, actions, op }: RowDetailsProps) {
  const cells = table.rows[row];
  const first = table.columns[0];
  if (cells === undefined || first === undefined) return null;
  const name = String(cells[0] ?? "Details");
  const about = op === undefined ? opOfRow(table, cells) : op;
  return (
    <Panel
      title={isNumeric(first) ? `${first.label} ${name}` : name}
      class={onClose === undefined ? "" : "details"}
      actions={
        <>
          {actions}
          {rowActions(table, row).map((action) => (
            <button type="button" class="quiet" key={action.label} onClick={() => go(action.to)}>
              {action.label}
            </button>
          ))}
          {onClose !== undefined && (
            <button type="button" class="quiet" onClick={onClose} aria-label="Close details">
              Close
            </button>
          )}
        </>
      }
    >
      {about !== null && <OpSummary key={`${about.name} ${about.module}`} op={about} />}
      <dl class="pairs">
        {table.columns.map((column, i) => (
          <div>
            <dt>
              <Explained unit={column.unit} id={column.id} doc={column.doc} of={column}>
                {column.label}
              </Explained>
            </dt>
            <dd class={cells[i] === null ? "unknown" : ""}>{cellText(table.columns, cells, i)}</dd>
            {column.doc !== undefined && column.doc !== "" && <dd class="doc">{column.doc}</dd>}
          </div>
        ))}
      </dl>
    </Panel>
  );
}
