/** Rows of a report's table as stacked bars. Pure. */

import { cellText, columnIndex, numberAt, textAt } from "../api/read";
import type { Column, Table } from "../api/types";
import { formatCell } from "../base/format";
import type { Cell } from "../base/format";
import type { BarRow } from "../widgets/chart/Bars";

export interface PartSpec {
  /** The column that holds it. */
  readonly id: string;
  readonly name: string;
  readonly colour: string;
}

export interface BarSpec {
  /** The column that names a row; the first of these that there is. */
  readonly name: readonly string[];
  readonly parts: readonly PartSpec[];
  /** The name in other words; picks still give the cell. */
  readonly label?: (row: readonly Cell[]) => string;
  /** A colour by the row, where a row has one part. */
  readonly colour?: (row: readonly Cell[], index: number) => string;
  /** Said at the end of the row; else the sum of the parts. */
  readonly text?: (row: readonly Cell[]) => string;
  readonly most?: number;
}

export interface Drawn {
  readonly rows: readonly BarRow[];
  readonly full: number;
  /** Rows of the table that are not drawn. */
  readonly left: number;
}

const NONE: Drawn = { rows: [], full: 0, left: 0 };

/** What a table's bars look like; none where a column is missing. Rows without any known part are left out, never drawn as zero. */
export function drawn(table: Table | null, spec: BarSpec): Drawn {
  if (table === null) return NONE;
  const name = columnIndex(table, ...spec.name);
  const parts = spec.parts.flatMap((part) => {
    const index = columnIndex(table, part.id);
    const column = table.columns[index];
    return column === undefined ? [] : [{ ...part, index, column }];
  });
  if (name < 0 || parts.length === 0) return NONE;
  const all = table.rows.flatMap((row, i) => {
    const known = parts.flatMap((part) => {
      const value = numberAt(row, part.index);
      return value === null ? [] : [{ ...part, value }];
    });
    return known.length === 0 ? [] : [{ row, i, known }];
  });
  const rows = all.slice(0, spec.most ?? all.length).map(({ row, i, known }): BarRow => {
    const sum = known.reduce((total, part) => total + part.value, 0);
    return {
      name: spec.label?.(row) ?? textAt(row, name) ?? "not named",
      ...(spec.label === undefined ? {} : { key: textAt(row, name) ?? "" }),
      title: table.columns.map((column, at) => `${column.label}: ${cellText(table.columns, row, at)}`).join("\n"),
      parts: known.map((part) => ({
        name: part.name,
        value: Math.max(0, part.value),
        text: say(part.value, part.column),
        colour: spec.colour?.(row, i) ?? part.colour,
      })),
      text: spec.text?.(row) ?? say(sum, known[0]?.column),
    };
  });
  const full = Math.max(0, ...rows.map((row) => row.parts.reduce((sum, part) => sum + part.value, 0)));
  return { rows, full, left: all.length - rows.length };
}

function say(value: number, column: Column | undefined): string {
  return column === undefined ? "" : formatCell(value, column.kind, column.unit);
}

/** Cells of a row as one text: `1.130 ms · 56.3%`; what is unknown is left out. */
export function said(table: Table, row: readonly Cell[], ...ids: string[]): string {
  return ids
    .flatMap((id) => {
      const index = columnIndex(table, id);
      const [column, cell] = [table.columns[index], row[index] ?? null];
      return column === undefined || cell === null ? [] : [cellText(table.columns, row, index)];
    })
    .join(" · ");
}

/** `first 16 of 40 devices; ` where not all are drawn. */
export function firstOf(bars: Drawn, what: string): string {
  return bars.left === 0 ? "" : `first ${bars.rows.length} of ${bars.rows.length + bars.left} ${what}; `;
}
