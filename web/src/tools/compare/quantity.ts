/** Changes with their sign. Pure. */

import { cellText, columnIndex, numberAt } from "../../api/read";
import type { Table } from "../../api/types";
import { formatChange, formatShare } from "../../base/format";

/** A change of time: `+1.230 ms`. */
export function durationChange(ps: number): string {
  return formatChange(ps, "ps");
}

/** A change as a share of what was: `−2.4%`. */
export function shareChange(share: number): string {
  if (share !== 0 && Math.abs(share) < 0.001) return "<0.1%";
  return share === 0 ? formatShare(0) : `${share > 0 ? "+" : "−"}${formatShare(Math.abs(share))}`;
}

/** A table of metrics for reading: the change with its share in one cell, and nothing where words have no difference or there is no note. */
export function readable(table: Table | null): Table | null {
  if (table === null) return null;
  const [baseline, delta, share] = ["baseline", "delta", "delta_share"].map((id) => columnIndex(table, id)) as [number, number, number];
  const note = columnIndex(table, "note");
  if (delta < 0) return table;
  const rows = table.rows.map((row) => {
    const of = numberAt(row, share);
    const text = cellText(table.columns, row, delta);
    const said =
      row[delta] === null ? (typeof row[baseline] === "string" ? "" : null) : `${text}${of === null ? "" : ` (${shareChange(of)})`}`;
    return row.map((cell, i) => (i === delta ? said : i === note ? (cell ?? "") : cell));
  });
  return { ...table, rows };
}
