/** Ticks of the time ruler. Pure. */

import { linearTicks } from "../../base/scale";
import type { Picos, Px } from "../../base/units";
import { PS_PER_MS, PS_PER_NS, PS_PER_S, PS_PER_US } from "../../base/units";
import { timeToPx } from "./viewport";
import type { Viewport } from "./viewport";

export interface Tick {
  readonly px: Px;
  readonly text: string;
}

const UNITS: readonly (readonly [number, string])[] = [
  [PS_PER_S, "s"],
  [PS_PER_MS, "ms"],
  [PS_PER_US, "µs"],
  [PS_PER_NS, "ns"],
  [1, "ps"],
];

/** One unit and one number of decimals for the whole ruler, fine enough to tell two ticks apart. No two are nearer than
 * `apart`. */
export function rulerTicks(view: Viewport, width: Px, apart: Px = 110): Tick[] {
  const times = linearTicks([view.start, view.end], Math.max(1, width / (1.5 * apart)));
  const step = times.length > 1 ? (times[1] ?? 0) - (times[0] ?? 0) : view.end - view.start;
  const [size, name] = UNITS.find(([unit]) => Math.max(step, view.start) >= unit && step * 1e4 >= unit) ?? [1, "ps"];
  const decimals = Math.max(0, Math.ceil(-Math.log10(step / size) - 1e-9));
  return times.map((time) => ({ px: timeToPx(view, width, time), text: tickText(time, size, decimals, name) }));
}

function tickText(time: Picos, size: number, decimals: number, name: string): string {
  return `${(time / size).toFixed(decimals)} ${name}`;
}
