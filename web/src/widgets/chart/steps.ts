/** Geometry of the chart of step times. Pure. */

import type { Scale } from "../../base/scale";
import type { Picos } from "../../base/units";

export interface StepPoint {
  readonly step: number;
  readonly device: string;
  readonly durationPs: Picos;
  /** Its class: steady, warm-up, edge, outlier. */
  readonly kind: string;
  /** What a click on the point selects. */
  readonly row: number;
}

/** A path of one bar a point, or of round dots (zero-length strokes): one element for thousands of points. */
export function marks(points: readonly StepPoint[], x: (point: StepPoint) => number, y: Scale, baseline: number | null): string {
  return points.map((p) => `M${x(p).toFixed(1)} ${(baseline ?? y(p.durationPs)).toFixed(1)}V${y(p.durationPs).toFixed(1)}`).join("");
}

/** The point nearest to a pixel, across first: the eye reads a step chart by column. */
export function nearest(points: readonly StepPoint[], x: Scale, y: Scale, px: number, py: number): StepPoint | null {
  let best: StepPoint | null = null;
  let bestDistance = Number.POSITIVE_INFINITY;
  for (const point of points) {
    const distance = Math.abs(x(point.step) - px) * 4 + Math.abs(y(point.durationPs) - py);
    if (distance < bestDistance) {
      best = point;
      bestDistance = distance;
    }
  }
  return best;
}

export function isUsual(kind: string): boolean {
  return kind === "" || /^(steady|normal|regular|usual)/i.test(kind);
}
