/** The part of an axis that is in sight. Pure: every move gives a new part inside the whole. */

import type { Interval } from "./scale";
import { clamp } from "./scale";

export function lengthOf([low, high]: Interval): number {
  return high - low;
}

/** Keeps the length where it can and moves the part back inside. */
export function inside(whole: Interval, part: Interval): Interval {
  const length = Math.min(lengthOf(part), lengthOf(whole));
  const low = clamp(part[0], whole[0], whole[1] - length);
  return [low, low + length];
}

/** Scales by `factor` (below one zooms in) about `anchor`, down to `shortest`. */
export function zoomed(whole: Interval, part: Interval, factor: number, anchor: number, shortest: number): Interval {
  const length = clamp(lengthOf(part) * factor, Math.min(shortest, lengthOf(whole)), lengthOf(whole));
  const share = lengthOf(part) > 0 ? (anchor - part[0]) / lengthOf(part) : 0.5;
  const low = anchor - share * length;
  return inside(whole, [low, low + length]);
}

export function moved(whole: Interval, part: Interval, by: number): Interval {
  return inside(whole, [part[0] + by, part[1] + by]);
}
