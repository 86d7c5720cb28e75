/** Rows of SQL as a table of the page. Pure. */

import type { Column, Kind, SqlAnswer, SqlColumn, Table } from "../../api/types";
import type { Cell } from "../../base/format";

function kindOf({ kind, unit }: SqlColumn): Kind {
  if (kind === "flag") return "flag";
  if (kind === "text") return "text";
  if (unit === "ps") return "duration_ps";
  if (unit === "B") return "bytes";
  if (unit === "FLOP/s" || unit === "B/s") return "rate";
  return kind === "integer" ? "int" : "float";
}

/** The answer as a report's table. Columns of one name are told apart by a number behind it. */
export function tableOfAnswer(answer: SqlAnswer): Table {
  const seen = new Map<string, number>();
  const columns = answer.columns.map((column): Column => {
    const before = seen.get(column.name) ?? 0;
    seen.set(column.name, before + 1);
    const id = before === 0 ? column.name : `${column.name}_${before + 1}`;
    return { id, label: id, unit: column.unit ?? "", kind: kindOf(column), doc: column.doc ?? "" };
  });
  return { id: "sql", title: "Rows", columns, rows: answer.rows as readonly (readonly Cell[])[] };
}

/** A text with a name put in place of what is selected, with a space before it where it would grow together with a word, and where the cursor is then. */
export function inserted(text: string, from: number, to: number, name: string): readonly [string, number] {
  const before = text.slice(0, from);
  const gap = /\w$/.test(before) ? " " : "";
  return [`${before}${gap}${name}${text.slice(to)}`, before.length + gap.length + name.length];
}
