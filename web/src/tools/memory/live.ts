/** Bytes in use over the schedule, and where each buffer lies. Read from the report, and questions about them. Pure. */

import { columnIndex, numberAt, tableOf, textAt, valueNumber } from "../../api/read";
import type { Report, Table } from "../../api/types";
import type { Interval } from "../../base/scale";

export interface LivePoint {
  /** Position among the heap events of the schedule. */
  readonly at: number;
  readonly bytes: number;
}

export interface Live {
  readonly padded: readonly LivePoint[];
  /** Thinned on its own: its positions are others. */
  readonly unpadded: readonly LivePoint[];
}

export function readLive(report: Report): Live {
  const points = (id: string): LivePoint[] => {
    const series = report.series.find((one) => one.id === id);
    return (series?.points ?? []).flatMap(([at, bytes]) => (bytes === null ? [] : [{ at, bytes }]));
  };
  return { padded: points("live"), unpadded: points("live_unpadded") };
}

/** Index of the most bytes; of equals the first. -1 without points. */
export function peakIndex(points: readonly LivePoint[]): number {
  let best = -1;
  points.forEach((point, i) => {
    if (best < 0 || point.bytes > (points[best]?.bytes ?? 0)) best = i;
  });
  return best;
}

/** Index of the last point at or before a position; the first where there is none before. -1 without points. */
export function pointAt(points: readonly { readonly at: number }[], position: number): number {
  let low = 0;
  let high = points.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((points[middle]?.at ?? 0) <= position) low = middle;
    else high = middle - 1;
  }
  return points.length === 0 ? -1 : low;
}

/** A step line of a value over a part of the schedule, at most a few corners a pixel: the highest and the lowest of what
 * falls into one are kept, so that a peak of one instruction stays. `x` and `y` give pixels. */
export function stepPath(
  points: readonly LivePoint[],
  part: Interval,
  x: (position: number) => number,
  y: (value: number) => number,
): string {
  const first = Math.max(0, pointAt(points, part[0]));
  let path = "";
  let column = Number.NaN;
  let low = 0;
  let high = 0;
  let last = 0;
  const flush = (): void => {
    if (Number.isNaN(column) || low === high) return;
    path += `V${y(high).toFixed(1)}V${y(low).toFixed(1)}V${y(last).toFixed(1)}`;
  };
  for (let i = first; i < points.length; i += 1) {
    const point = points[i];
    if (point === undefined || point.at > part[1]) break;
    const value = point.bytes;
    const px = Math.round(x(Math.max(point.at, part[0])) * 2) / 2;
    if (px === column) {
      low = Math.min(low, value);
      high = Math.max(high, value);
    } else {
      flush();
      path += path === "" ? `M${px} ${y(value).toFixed(1)}` : `H${px}V${y(value).toFixed(1)}`;
      column = px;
      low = value;
      high = value;
    }
    last = value;
  }
  flush();
  return path === "" ? "" : `${path}H${x(part[1]).toFixed(1)}`;
}

export interface Box {
  /** Positions at which it gets memory and gives it back. */
  readonly start: number;
  readonly end: number;
  readonly offset: number;
  readonly bytes: number;
  readonly name: string;
  readonly row: number;
}

/** Where each buffer lies and when, from the report's table of allocations. */
export function readBoxes(table: Table | null): Box[] {
  if (table === null) return [];
  const start = columnIndex(table, "from_event");
  const end = columnIndex(table, "until_event");
  const offset = columnIndex(table, "offset_bytes");
  const bytes = columnIndex(table, "bytes");
  const name = columnIndex(table, "instruction");
  return table.rows.flatMap((row, i) => {
    const [a, b, o, size] = [numberAt(row, start), numberAt(row, end), numberAt(row, offset), numberAt(row, bytes)];
    if (a === null || b === null || o === null || size === null || size <= 0) return [];
    return [{ start: a, end: Math.max(a + 1, b), offset: o, bytes: size, name: textAt(row, name) ?? "", row: i }];
  });
}

/** The box at a place; of several the smallest, which would lie on top. */
export function boxAt(boxes: readonly Box[], position: number, offset: number): Box | null {
  let best: Box | null = null;
  for (const box of boxes) {
    const hit = position >= box.start && position < box.end && offset >= box.offset && offset < box.offset + box.bytes;
    if (hit && (best === null || box.bytes < best.bytes)) best = box;
  }
  return best;
}

export interface Moment {
  readonly at: number;
  readonly instruction: string;
}

/** Instructions at whose heap events memory is taken, in order of the events. */
export function readMoments(report: Report): Moment[] {
  const table = tableOf(report, "allocations");
  const at = table === null ? -1 : columnIndex(table, "from_event");
  const name = table === null ? -1 : columnIndex(table, "from");
  const moments = new Map<number, string>();
  for (const row of table?.rows ?? []) {
    const event = numberAt(row, at);
    if (event !== null) moments.set(event, textAt(row, name) ?? "");
  }
  const peak = valueNumber(report, "peak_event");
  const peakName = report.values["peak_instruction"]?.value;
  if (peak !== null && typeof peakName === "string") moments.set(peak, peakName);
  return [...moments].map(([event, instruction]) => ({ at: event, instruction })).sort((a, b) => a.at - b.at);
}

/** The schedule from end to end. */
export function scheduleOf(points: readonly LivePoint[], boxes: readonly Box[]): Interval {
  let end = 1;
  for (const point of points) end = Math.max(end, point.at + 1);
  for (const box of boxes) end = Math.max(end, box.end);
  return [0, end];
}
