/** Collectives between slices as bars: the time that each has, and the time that it keeps the device waiting. Pure. */

import { columnIndex, numberAt, textAt } from "../../api/read";
import type { Table } from "../../api/types";
import type { BarRow } from "../../widgets/chart/Bars";
import { formatDuration } from "../../base/format";

export interface Compared {
  readonly rows: readonly BarRow[];
  readonly full: number;
}

/** Latency split in what the device waited for it and what it did not notice. */
export function latencyBars(table: Table | null, most: number): Compared {
  if (table === null) return { rows: [], full: 0 };
  const [name, latency, stall] = [columnIndex(table, "rendezvous"), columnIndex(table, "latency_ps"), columnIndex(table, "stall_ps")];
  const rows = table.rows.slice(0, most).flatMap((row, i) => {
    const whole = numberAt(row, latency);
    if (whole === null) return [];
    const waits = Math.min(whole, numberAt(row, stall) ?? 0);
    const part = (what: string, value: number, colour: string) => ({ name: what, value, text: formatDuration(value), colour });
    return [
      {
        name: textAt(row, name) ?? "",
        key: String(i),
        parts: [part("hidden", whole - waits, "var(--idle-0)"), part("device waits", waits, "var(--m-collective)")],
        text: formatDuration(whole, 3),
      },
    ];
  });
  return { rows, full: Math.max(0, ...rows.map((row) => row.parts.reduce((sum, part) => sum + part.value, 0))) };
}
