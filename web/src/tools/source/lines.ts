/** A file's lines with their time: from the report alone, or beside the file's text. Pure. */

import { columnIndex, numberAt, textAt } from "../../api/read";
import type { Table } from "../../api/types";
import type { Cell } from "../../base/format";

export interface Line {
  /** From 1; null for what names the file alone. */
  readonly number: number | null;
  readonly text: string | null;
  /** Row of the report's table; -1 where no op names the line. */
  readonly row: number;
  readonly own: number | null;
  readonly total: number | null;
}

interface Timed {
  readonly row: number;
  readonly number: number | null;
  readonly own: number | null;
  readonly total: number | null;
}

function timedLines(table: Table, file: string): Timed[] {
  const [path, line, own, total] = ["file", "line", "self_ps", "total_ps"].map((id) => columnIndex(table, id));
  const at = (cells: readonly Cell[], index: number | undefined): number | null => numberAt(cells, index ?? -1);
  return table.rows.flatMap((cells, row) =>
    textAt(cells, path ?? -1) === file ? [{ row, number: at(cells, line), own: at(cells, own), total: at(cells, total) }] : [],
  );
}

/** The table without a column: for a place that shows what the column holds itself. */
export function without(table: Table, id: string): Table {
  const at = columnIndex(table, id);
  if (at < 0) return table;
  const others = <T>(all: readonly T[]): T[] => all.filter((_, i) => i !== at);
  return { ...table, columns: others(table.columns), rows: table.rows.map(others) };
}

/** The lines of one file by number. With its text all of them, without it those that ops name. */
export function linesOf(table: Table, file: string, text: string | null): Line[] {
  const timed = timedLines(table, file).sort((a, b) => (a.number ?? 0) - (b.number ?? 0));
  if (text === null) return timed.map((one) => ({ ...one, text: null }));
  const at = new Map(timed.map((one) => [one.number, one]));
  const words = text.replace(/\r\n?/g, "\n").replace(/\n$/, "").split("\n");
  const lines = words.map((line, i): Line => {
    const one = at.get(i + 1);
    return { number: i + 1, text: line, row: one?.row ?? -1, own: one?.own ?? null, total: one?.total ?? null };
  });
  // What the profile names beyond the end of the text: the file is not the one that was profiled.
  const beyond = timed.filter((one) => one.number === null || one.number > words.length);
  return [...lines, ...beyond.map((one) => ({ ...one, text: null }))];
}

/** True where the profile names lines that the text does not have, or that are empty in it. */
export function looksChanged(lines: readonly Line[]): boolean {
  const hasText = lines.some((line) => line.text !== null);
  return hasText && lines.some((line) => line.row >= 0 && (line.own ?? 0) > 0 && (line.text === null || line.text.trim() === ""));
}

/** The end of a path: what fits beside other numbers. */
export function shortPath(path: string, parts = 3): string {
  const all = path.split("/");
  return all.length <= parts ? path : `…/${all.slice(-parts).join("/")}`;
}

/** The line that takes the most time by itself, or with what it calls. */
export function hottest(lines: readonly Line[]): number {
  let best = -1;
  lines.forEach((line, i) => {
    const now = lines[best];
    const better =
      now === undefined || (line.own ?? 0) > (now.own ?? 0) || ((line.own ?? 0) === (now.own ?? 0) && (line.total ?? 0) > (now.total ?? 0));
    if (line.row >= 0 && better) best = i;
  });
  return best;
}
