/** A table of sentences: cells wrap, verdicts carry their sign, small print stands below. For a few dozen rows. */

import { useEffect, useRef } from "preact/hooks";

import { cellText, columnIndex, isNumeric } from "../../api/read";
import type { Column, Table } from "../../api/types";
import { markIn } from "../../state/mark";
import { Explained } from "../Explained";
import { TableExport } from "../Export";
import { Panel } from "../Panel";
import { Tone } from "../Tone";
import type { ToneName } from "../tone";
import { Words } from "../Words";

export interface WordColumn {
  readonly id: string;
  /** Reads as a verdict. */
  readonly tone?: (word: string) => ToneName;
  /** A name or a value, as a program writes it. */
  readonly code?: true;
  /** Columns that stand in small below. */
  readonly below?: readonly string[];
}

export interface WordTableProps {
  readonly table: Table | null;
  readonly name: string;
  readonly columns: readonly WordColumn[];
  readonly note?: string;
  /** Said where there are no rows. */
  readonly empty?: string;
  /** What is taken along, where the cells shown are words for its numbers. */
  readonly exported?: Table | null;
}

export function WordTable({ table, name, columns, note, empty, exported }: WordTableProps) {
  if (table === null || (table.rows.length === 0 && empty === undefined)) return null;
  const shown = columns.flatMap((one) => {
    const index = columnIndex(table, one.id);
    const column = table.columns[index];
    return column === undefined ? [] : [{ ...one, index, column }];
  });
  return (
    <WordPanel
      {...{
        table,
        name,
        shown,
        exported: exported ?? table,
        ...(note === undefined ? {} : { note }),
        ...(empty === undefined ? {} : { empty }),
      }}
    />
  );
}

interface Shown extends WordColumn {
  readonly index: number;
  readonly column: Column;
}

interface WordPanelProps {
  readonly table: Table;
  readonly name: string;
  readonly shown: readonly Shown[];
  readonly exported: Table;
  readonly note?: string;
  readonly empty?: string;
}

function WordPanel({ table, name, shown, exported, note, empty }: WordPanelProps) {
  const marked = markIn(table.id);
  const wrap = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (marked !== "") wrap.current?.querySelector(".marked")?.scrollIntoView({ block: "center" });
  }, [marked, table]);
  return (
    <Panel title={table.title || table.id} note={note ?? ""} flush actions={<TableExport table={exported} name={`${name}-${table.id}`} />}>
      {table.rows.length === 0 ? (
        <p class="table-empty">{empty}</p>
      ) : (
        <div class="words-wrap" ref={wrap}>
          <table class="data plain words stacking">
            <thead>
              <tr>
                {shown.map(({ column }) => (
                  <th scope="col" class={isNumeric(column) ? "num" : ""}>
                    <Explained doc={column.doc} unit={column.unit} id={column.id} of={column}>
                      {column.label}
                    </Explained>
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {table.rows.map((row, i) => (
                <tr key={i} class={marked !== "" && marked === String(row[0] ?? "") ? "marked" : undefined}>
                  {shown.map((one, place) => {
                    const cell = row[one.index] ?? null;
                    const text = cellText(table.columns, row, one.index);
                    const content = (
                      <>
                        {one.tone !== undefined ? (
                          <Tone word={text} tone={one.tone(text)} />
                        ) : one.code === true && cell !== null ? (
                          <code>{text}</code>
                        ) : (
                          <Words text={text} />
                        )}
                        {(one.below ?? []).map((id) => (
                          <Below key={id} table={table} row={row} id={id} />
                        ))}
                      </>
                    );
                    const classes = `${isNumeric(one.column) ? "num" : ""}${cell === null ? " unknown" : ""}`.trim();
                    return place === 0 ? (
                      <th scope="row" key={one.id}>
                        {content}
                      </th>
                    ) : (
                      <td key={one.id} class={classes} data-label={one.column.label}>
                        {content}
                      </td>
                    );
                  })}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Panel>
  );
}

/** `default false`: a column in small print, where it is known. */
function Below({ table, row, id }: { readonly table: Table; readonly row: Table["rows"][number]; readonly id: string }) {
  const index = columnIndex(table, id);
  const [column, cell] = [table.columns[index], row[index] ?? null];
  if (column === undefined || cell === null || cell === "") return null;
  return (
    <span class="sub">
      {`${column.label.toLowerCase()} `}
      <Words text={cellText(table.columns, row, index)} />
    </span>
  );
}
