/** Changes with their sign. Pure. */

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

/** The same table with signs before its shares of change. */
export function signed(table: Table | null): Table | null {
  const at = table?.columns.findIndex((column) => column.id === "delta_share" && column.kind === "share") ?? -1;
  if (table === null || at < 0) return table;
  const rows = table.rows.map((row) => row.map((cell, i) => (i === at && typeof cell === "number" ? shareChange(cell) : cell)));
  return { ...table, rows };
}
