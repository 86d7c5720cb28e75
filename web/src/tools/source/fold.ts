/** Which lines of a text are shown: those near one that takes time. Pure. */

import type { Line } from "./lines";

export interface FoldedRow {
  /** Position among the lines; -1 for lines that are hidden. */
  readonly line: number;
  readonly hidden: number;
}

/** A gap of fewer lines than this is not worth hiding. */
const LEAST = 3;

export function folded(lines: readonly Line[], around: number | null): FoldedRow[] {
  const all = lines.map((_, line) => ({ line, hidden: 0 }));
  if (around === null || !lines.some((line) => line.row >= 0)) return all;
  const keep = new Array<boolean>(lines.length).fill(false);
  lines.forEach((line, at) => {
    if (line.row >= 0) keep.fill(true, Math.max(0, at - around), at + around + 1);
  });
  const rows: FoldedRow[] = [];
  for (let at = 0; at < lines.length; ) {
    let end = at;
    while (end < lines.length && keep[end] !== true) end += 1;
    if (end - at >= LEAST) rows.push({ line: -1, hidden: end - at });
    else for (let line = at; line < end; line += 1) rows.push({ line, hidden: 0 });
    at = end;
    if (at < lines.length) {
      rows.push({ line: at, hidden: 0 });
      at += 1;
    }
  }
  return rows;
}
