/** Which rows are in view and how wide columns are. Pure. */

import { cellText, isMixed, isNumeric, unitColumn } from "../../api/read";
import type { Column, Table } from "../../api/types";
import type { Cell } from "../../base/format";
import { foldName } from "../../base/names";

export interface RowRange {
  readonly first: number;
  /** One past the last. */
  readonly end: number;
}

/** Rows to draw for a scroll position, with some above and below so that a fast scroll shows no gap. */
export function visibleRows(scrollTop: number, height: number, rowHeight: number, count: number, overscan = 12): RowRange {
  const first = Math.max(0, Math.floor(scrollTop / rowHeight) - overscan);
  const end = Math.min(count, Math.ceil((scrollTop + height) / rowHeight) + overscan);
  return first < end ? { first, end } : { first: Math.max(0, count - 1), end: count };
}

/** The scroll position that shows a row, changed as little as possible. */
export function scrollToRow(scrollTop: number, height: number, rowHeight: number, row: number): number {
  const top = row * rowHeight;
  if (top < scrollTop) return top;
  if (top + rowHeight > scrollTop + height) return top + rowHeight - height;
  return scrollTop;
}

/** Positions of the columns to show: one that is unknown in every row is named in words instead, and quantities carry the units
 * that a column of their own names. */
export function knownColumns(columns: readonly Column[], rows: readonly (readonly Cell[])[]): number[] {
  const units = unitColumn(columns);
  const all = columns.map((_, i) => i).filter((i) => i !== units);
  return rows.length === 0 ? all : all.filter((i) => i === 0 || rows.some((row) => (row[i] ?? null) !== null));
}

/** The same positions with one of them moved beside the first. */
export function withSecond(positions: readonly number[], second: number): readonly number[] {
  const rest = positions.slice(1).filter((i) => i !== second);
  return rest.length === positions.length - 1 ? positions : [...positions.slice(0, 1), second, ...rest];
}

/** Shares of the rows in one whole, as opposed to each row's share of something of its own. */
const PARTS_OF_ONE = /^(self_|time_)?share$/;

/** What fills the bar of a share column: 1, or the largest cell where the rows are the parts of one whole.
 * A share of the time among thousands of ops would otherwise show no bar at all. */
export function barFull(column: Column, index: number, rows: readonly (readonly Cell[])[]): number {
  if (!PARTS_OF_ONE.test(column.id)) return 1;
  let largest = 0;
  for (const row of rows) {
    const cell = row[index];
    if (typeof cell === "number") largest = Math.max(largest, cell);
  }
  return largest > 0 ? largest : 1;
}

/** The size of the largest number of a column. */
export function largest(rows: readonly (readonly Cell[])[], index: number): number {
  return rows.reduce((most, row) => {
    const cell = row[index];
    return typeof cell === "number" ? Math.max(most, Math.abs(cell)) : most;
  }, 0);
}

const SAMPLE = 400;
const LONGEST_TEXT = 44;

/** Width of a column in characters, from its header and a sample of its cells. */
export function columnWidth(columns: readonly Column[], index: number, rows: readonly (readonly Cell[])[]): number {
  const column = columns[index];
  if (column === undefined) return 0;
  // A header may break between words; its longest word may not.
  const words = column.label.split(/\s+/).map((word) => word.length);
  let width = Math.max(4, ...words, Math.ceil(column.label.length / 2)) + 2;
  const every = Math.max(1, Math.floor(rows.length / SAMPLE));
  for (let i = 0; i < rows.length; i += every) {
    width = Math.max(width, foldName(cellText(columns, rows[i], index)).length);
  }
  if (column.kind === "share") width = Math.max(width, 9);
  return Math.min(width, isNumeric(column) && !isMixed(column) ? 18 : LONGEST_TEXT) + 2;
}

/** Rows of a table of facts that are shown all at once. */
const MOST_FACTS = 12;

/** A short table of names and words, as opposed to one that is sorted and filtered. */
export function isFacts(table: Table): boolean {
  return table.columns.length === 2 && table.columns.every((column) => column.kind === "text") && table.rows.length <= MOST_FACTS;
}
