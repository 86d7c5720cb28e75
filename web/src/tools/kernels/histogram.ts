/** The bars of a histogram from the report's table of lengths. Pure. */

import { columnIndex, numberAt } from "../../api/read";
import type { Table } from "../../api/types";
import { formatTick } from "../../base/format";

export interface LengthBar {
  readonly from: number;
  readonly to: number;
  readonly label: string;
  readonly count: number;
  readonly time: number;
}

export function lengthBars(table: Table | null): LengthBar[] {
  if (table === null) return [];
  const [from, to, count, time] = ["from_ps", "to_ps", "occurrences", "total_ps"].map((id) => columnIndex(table, id));
  return table.rows.flatMap((row) => {
    const start = numberAt(row, from ?? -1);
    const end = numberAt(row, to ?? -1);
    if (start === null || end === null) return [];
    return [
      {
        from: start,
        to: end,
        label: `${formatTick(start)} to ${formatTick(end)}`,
        count: numberAt(row, count ?? -1) ?? 0,
        time: numberAt(row, time ?? -1) ?? 0,
      },
    ];
  });
}

/** Where a length stands along classes of unequal width: the class, and how far into it. Null outside of all. */
export function placeOf(bars: readonly LengthBar[], length: number): number | null {
  const at = bars.findIndex((bar) => bar.from <= length && length < bar.to);
  const bar = bars[at];
  return bar === undefined ? null : at + (length - bar.from) / (bar.to - bar.from);
}
