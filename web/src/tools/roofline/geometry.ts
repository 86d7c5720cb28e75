/** The roofline in numbers: which points there are and where the roof is. Pure. */

import { columnIndex, numberAt, textAt, valueNumber } from "../../api/read";
import type { Report, Table } from "../../api/types";
import type { Interval } from "../../base/scale";
import { extent } from "../../base/scale";

export interface RoofPoint {
  readonly row: number;
  readonly name: string;
  /** FLOP per byte. */
  readonly intensity: number;
  /** FLOP/s achieved. */
  readonly rate: number;
  /** Self time; sizes the point. */
  readonly timePs: number;
  readonly group: string;
}

export interface Roof {
  /** FLOP/s, or null where the profile does not say. */
  readonly peakFlopRate: number | null;
  /** B/s. */
  readonly peakByteRate: number | null;
  /** Ceilings of other memories, B/s, fastest first. */
  readonly levels?: readonly MemoryLevel[];
}

export interface MemoryLevel {
  readonly name: string;
  readonly rate: number;
}

const LEVEL = /^peak_(?!hbm)(\w+?)_(?:byte_)?rate$/;

/** The peaks that a report states. A memory level is any `peak_NAME_rate` in bytes a second. */
export function roofOf(report: Report): Roof {
  const levels = Object.entries(report.values).flatMap(([id, value]): MemoryLevel[] => {
    const name = LEVEL.exec(id)?.[1];
    return name === undefined || value.unit !== "B/s" || typeof value.value !== "number"
      ? []
      : [{ name: name.replaceAll("_", " ").toUpperCase(), rate: value.value }];
  });
  return {
    peakFlopRate: valueNumber(report, "peak_flop_rate", "peak_flops"),
    peakByteRate: valueNumber(report, "peak_hbm_rate", "peak_hbm_bandwidth"),
    levels: levels.sort((a, b) => b.rate - a.rate),
  };
}

/** The slope of a memory from the edge of the plot to the flat roof; null where none of it is in sight. */
export function slope(rate: number, peakFlopRate: number | null, { x, y }: Domains): readonly [number, number] | null {
  const from = Math.max(x[0], y[0] / rate);
  const to = Math.min(x[1], (peakFlopRate ?? y[1]) / rate);
  return to > from ? [from, to] : null;
}

/** What the roof allows at an intensity; null where a peak is unknown. */
export function attainable(roof: Roof, intensity: number): number | null {
  if (roof.peakFlopRate === null || roof.peakByteRate === null) return null;
  return Math.min(roof.peakFlopRate, roof.peakByteRate * intensity);
}

/** Rows that have both an intensity and a rate above zero: a log axis has no place for the others. */
export function roofPoints(table: Table, groupBy: readonly string[]): RoofPoint[] {
  const name = columnIndex(table, "name", "op", "program", "module", "category", "step");
  const intensity = columnIndex(table, "operational_intensity", "intensity", "hbm_operational_intensity");
  const rate = columnIndex(table, "flop_rate", "achieved_flop_rate", "model_flop_rate", "rate", "achieved_rate");
  const time = columnIndex(table, "self_ps", "self_time_ps", "total_self_ps", "time_ps", "total_ps", "duration_ps");
  const group = columnIndex(table, ...groupBy);
  const points: RoofPoint[] = [];
  table.rows.forEach((row, i) => {
    const x = numberAt(row, intensity);
    const y = numberAt(row, rate);
    if (x === null || y === null || x <= 0 || y <= 0) return;
    points.push({
      row: i,
      name: textAt(row, name) ?? textAt(row, 0) ?? "",
      intensity: x,
      rate: y,
      timePs: numberAt(row, time) ?? 0,
      group: textAt(row, group) ?? "",
    });
  });
  return points;
}

export interface Domains {
  readonly x: Interval;
  readonly y: Interval;
}

/** The part of the self time whose points may lie beyond the edge: a nanosecond's op must not squeeze the others. */
const BEYOND = 0.005;

/** The points that all but a sliver of the time is in, by one coordinate trimmed at both ends. */
function bulk(points: readonly RoofPoint[], of: (point: RoofPoint) => number): number[] {
  const sorted = [...points].sort((a, b) => of(a) - of(b));
  const total = sorted.reduce((sum, point) => sum + point.timePs, 0);
  const cut = (total * BEYOND) / 2;
  let before = 0;
  return sorted.flatMap((point) => {
    const low = before + point.timePs;
    const high = total - before;
    before = low;
    return total === 0 || (low > cut && high > cut) ? [of(point)] : [];
  });
}

/** Domains that hold the ridge, a margin and all points but those of next to no time, at least two decades wide. */
export function domains(points: readonly RoofPoint[], roof: Roof): Domains {
  const ridge = roof.peakFlopRate !== null && roof.peakByteRate !== null ? roof.peakFlopRate / roof.peakByteRate : null;
  const xs = extent([...bulk(points, (p) => p.intensity), ridge]) ?? [0.1, 1000];
  const ys = extent([...bulk(points, (p) => p.rate), roof.peakFlopRate]) ?? [1e9, 1e15];
  return { x: widen(xs, 3, 4), y: widen(ys, 3, 2.5) };
}

export function isInside({ x, y }: Domains, point: RoofPoint): boolean {
  return point.intensity >= x[0] && point.intensity <= x[1] && point.rate >= y[0] && point.rate <= y[1];
}

function widen([low, high]: Interval, below: number, above: number): Interval {
  return [Math.min(low / below, high / 100), high * above];
}

/** Area grows with time; every point stays large enough to hit. */
export function radius(timePs: number, longestPs: number): number {
  return longestPs > 0 ? 3 + 13 * Math.sqrt(timePs / longestPs) : 4;
}
