/** Step times of both runs as points on one axis of time. Pure. */

import { columnIndex, numberAt, tableOf, textAt } from "../../api/read";
import type { Report } from "../../api/types";
import { formatDuration } from "../../base/format";
import type { Picos, Px } from "../../base/units";

export interface StepDot {
  readonly run: Which;
  readonly step: number;
  readonly ps: Picos;
  /** Its class; empty where it is not known. */
  readonly kind: string;
}

export type Which = "baseline" | "experiment";
export const BOTH: readonly Which[] = ["baseline", "experiment"];

/** The steps of both runs: from the curves, with classes from the table of steps. */
export function stepDots(report: Report): StepDot[] {
  const kinds = kindsOf(report);
  return BOTH.flatMap((run) => {
    const points = report.series.find((one) => one.id === run)?.points ?? [];
    return points.flatMap(([step, ps]): StepDot[] => (ps === null ? [] : [{ run, step, ps, kind: kinds.get(`${run} ${step}`) ?? "" }]));
  });
}

function kindsOf(report: Report): Map<string, string> {
  const table = tableOf(report, "steps");
  const kinds = new Map<string, string>();
  if (table === null) return kinds;
  const [run, step, kind] = ["run", "step", "class"].map((id) => columnIndex(table, id)) as [number, number, number];
  const first = textAt(table.rows[0], run);
  for (const row of table.rows) {
    const said = textAt(row, run) ?? "";
    // The table names runs by their labels; the baseline's steps come first.
    const which = said === "baseline" || said === "experiment" ? said : said === first ? "baseline" : "experiment";
    const number = numberAt(row, step);
    if (number !== null) kinds.set(`${which} ${number}`, textAt(row, kind) ?? "");
  }
  return kinds;
}

export interface PlacedDot extends StepDot {
  readonly x: Px;
  readonly y: Px;
}

/** In its run's strip a step stands by its time across and by its order down. */
export function placed(dots: readonly StepDot[], x: (ps: Picos) => Px, strips: Readonly<Record<Which, readonly [Px, Px]>>): PlacedDot[] {
  return BOTH.flatMap((run) => {
    const own = dots.filter((dot) => dot.run === run);
    const [top, bottom] = strips[run];
    const gap = (bottom - top) / (own.length + 1);
    return own.map((dot, i) => ({ ...dot, x: x(dot.ps), y: top + gap * (i + 1) }));
  });
}

/** The dot nearest to a place, or null where none is near. */
export function nearestDot(dots: readonly PlacedDot[], px: Px, py: Px, reach: Px): number | null {
  let best: number | null = null;
  let bestDistance = reach;
  dots.forEach((dot, i) => {
    const distance = Math.hypot(dot.x - px, dot.y - py);
    if (distance <= bestDistance) {
      best = i;
      bestDistance = distance;
    }
  });
  return best;
}

const FEWEST_DIGITS = 3;
const MOST_DIGITS = 9;

/** Words for the ticks of an axis that need not begin at 0: with as many digits as tell them apart. */
export function tickTexts(ticks: readonly Picos[]): string[] {
  for (let digits = FEWEST_DIGITS; digits < MOST_DIGITS; digits += 1) {
    const texts = ticks.map((tick) => formatDuration(tick, digits));
    if (new Set(texts).size === texts.length) return texts;
  }
  return ticks.map((tick) => formatDuration(tick, MOST_DIGITS));
}
