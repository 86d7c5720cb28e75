/** A waterfall from the whole down to what is left: each class starts where the one before it ended. Pure. */

import { columnIndex, numberAt, textAt } from "../../api/read";
import type { Table } from "../../api/types";
import { classOf } from "../time/classes";

export interface Fall {
  readonly name: string;
  readonly colour: string;
  readonly ps: number;
  /** Where the bar begins and ends, from 0 to the whole. */
  readonly from: number;
  readonly to: number;
  /** Of the whole; null where the whole is 0. */
  readonly share: number | null;
  /** The whole itself, or what is left of it. */
  readonly total: boolean;
}

export type Whole = "capture" | "active";

/** The bars: the whole first, then what it loses class by class; what is left at the end is compute. Classes without time
 * are left out. */
export function waterfall(table: Table | null, whole: Whole): Fall[] {
  if (table === null) return [];
  const time = columnIndex(table, "time_ps");
  const classes = table.rows.flatMap((row) => {
    const ps = numberAt(row, time);
    const name = textAt(row, 0) ?? "";
    const known = classOf(name);
    const taken = whole === "capture" || known === null || !known.outside;
    return ps === null || ps <= 0 || !taken ? [] : [{ name, ps, colour: known?.colour ?? "var(--unknown)" }];
  });
  const all = classes.reduce((sum, one) => sum + one.ps, 0);
  if (all <= 0) return [];
  let left = all;
  const falls = classes.map((one): Fall => {
    const to = left;
    left -= one.ps;
    return { ...one, from: Math.max(0, left), to, share: one.ps / all, total: false };
  });
  const name = whole === "capture" ? "capture" : "active window";
  return [{ name, colour: "var(--muted)", ps: all, from: 0, to: all, share: 1, total: true }, ...falls];
}
