/** From the baseline's step time to the experiment's, kind by kind of change. Pure. */

import { columnIndex, numberAt, textAt } from "../../api/read";
import type { Table } from "../../api/types";
import type { Means } from "./verdict";

export type Turn = "total" | "more" | "less" | "none";

export interface Fall {
  /** The kind as the report names it; empty for a run's whole step. */
  readonly kind: string;
  readonly name: string;
  readonly turn: Turn;
  /** The whole step, or the change. */
  readonly ps: number;
  /** Where the bar begins and ends, picoseconds of a step. */
  readonly from: number;
  readonly to: number;
  /** Of the baseline's step. */
  readonly share: number | null;
  /** How many ops it is about. */
  readonly ops: number | null;
  readonly largest: string;
}

export interface Waterfall {
  readonly falls: readonly Fall[];
  /** Where the axis begins and ends, picoseconds. */
  readonly start: number;
  readonly end: number;
  /** The kinds together. */
  readonly sum: number;
}

const NAMES: Readonly<Record<string, string>> = {
  new: "New ops",
  gone: "Ops that are gone",
  count: "Run more or less often",
  work: "More or less work",
  efficiency: "Efficiency",
  idle: "Idle time",
  devices: "Slowest device",
  rest: "Clocks, rounding, other programs",
};

export function kindName(kind: string): string {
  return NAMES[kind] ?? kind.charAt(0).toUpperCase() + kind.slice(1);
}

/** A change that is seen: the axis begins at 0 only where the bars are still seen then. */
const SMALL = 0.5;
const AROUND = 0.25;

/** The bars; null where the table or the step times are not known. */
export function waterfall(table: Table | null, means: Means | null): Waterfall | null {
  if (table === null || means === null || table.rows.length === 0) return null;
  const [kind, delta, share, ops, largest] = ["kind", "delta_ps", "share", "ops", "largest"].map((id) => columnIndex(table, id)) as [
    number,
    number,
    number,
    number,
    number,
  ];
  let at = means.baseline;
  let sum = 0;
  const falls = table.rows.flatMap((row): Fall[] => {
    const ps = numberAt(row, delta);
    const name = textAt(row, kind) ?? "";
    if (ps === null || name === "") return [];
    const from = at;
    at += ps;
    sum += ps;
    return [
      {
        kind: name,
        name: kindName(name),
        turn: ps > 0 ? "more" : ps < 0 ? "less" : "none",
        ps,
        from: Math.min(from, at),
        to: Math.max(from, at),
        share: numberAt(row, share),
        ops: numberAt(row, ops),
        largest: textAt(row, largest) ?? "",
      },
    ];
  });
  const total = (name: string, ps: number): Fall => ({
    kind: "",
    name,
    turn: "total",
    ps,
    from: 0,
    to: ps,
    share: null,
    ops: null,
    largest: "",
  });
  const all = [total("Baseline", means.baseline), ...falls, total("Experiment", means.experiment)];
  const edges = [means.baseline, means.experiment, ...falls.flatMap((fall) => [fall.from, fall.to])];
  const [low, high] = [Math.min(...edges), Math.max(...edges)];
  const room = (high - low) * AROUND;
  const start = high > 0 && low > high * SMALL ? Math.max(0, low - Math.max(room, high * 0.002)) : Math.min(0, low);
  return { falls: all, start, end: high + (high - start) * 0.02, sum };
}

/** Left edge and width of a bar, as shares of the track. */
export function place(fall: Fall, { start, end }: Waterfall): { readonly left: number; readonly width: number } {
  const whole = end - start || 1;
  const left = Math.max(0, (fall.from - start) / whole);
  return { left, width: Math.max(0, (fall.to - start) / whole - left) };
}
