/** What `haloscope report` puts into the page. */

import type { Report } from "../api/types";

export interface Answer {
  readonly question: string;
  readonly report?: Report;
  /** Why there is none. */
  readonly error?: string;
}

/** `[start_ps, duration_ps, depth, name, count, event]`, as `/api/timeline/window` has them. */
export type Slice = readonly [number, number, number, number, number, number];

export interface MiniTimelineData {
  readonly start_ps: number;
  readonly end_ps: number;
  /** What is shown, in words. */
  readonly what: string;
  readonly tracks: readonly { readonly id: number; readonly group: string; readonly name: string }[];
  readonly window: {
    readonly tracks: readonly { readonly id: number; readonly slices: readonly Slice[] }[];
    readonly names: readonly string[];
  };
  readonly devices_left_out: number;
}

export interface ReportData {
  readonly format: number;
  readonly version: string;
  readonly run: string;
  readonly hosts: readonly string[];
  /** The parts in order: ids of reports and what they are called. */
  readonly parts: readonly { readonly id: string; readonly label: string }[];
  readonly reports: Readonly<Record<string, Answer>>;
  /** Rows that a table has, where only the first of them are here: by `analysis/table`. */
  readonly rows_in_all: Readonly<Record<string, number>>;
  readonly timeline: MiniTimelineData | null;
}

/** The data of this page; null where there are none, or of another version. */
export function readData(text: string | null | undefined): ReportData | null {
  if (text === null || text === undefined || text === "") return null;
  const data = JSON.parse(text) as ReportData;
  return data.format === 1 ? data : null;
}

/** What is drawn of a track: rows from the top, each with its slices by colour. */
export interface DrawnRow {
  readonly paths: ReadonlyMap<number, string>;
  readonly labels: readonly { readonly x: number; readonly width: number; readonly text: string }[];
}

/** Rows that are drawn of a track; what nests deeper is counted. */
export const MOST_ROWS = 6;

/**
 * The slices of a track as paths in a box of `width` by `height` a row. A slice is at least half a pixel wide, so that it is
 * seen. Pure.
 */
export function drawTrack(
  slices: readonly Slice[],
  span: readonly [number, number],
  width: number,
  height: number,
  names: readonly string[],
  colourOf: (name: string) => number,
): { readonly rows: readonly DrawnRow[]; readonly deeper: number } {
  const rows: { paths: Map<number, string>; labels: { x: number; width: number; text: string }[] }[] = [];
  let deeper = 0;
  const scale = width / Math.max(1, span[1] - span[0]);
  for (const [start, duration, depth, name, count] of slices) {
    if (depth >= MOST_ROWS) {
      deeper += count;
      continue;
    }
    const from = Math.max(0, (start - span[0]) * scale);
    const to = Math.min(width, Math.max(from + 0.5, (start + duration - span[0]) * scale));
    while (rows.length <= depth) rows.push({ paths: new Map(), labels: [] });
    const row = rows[depth];
    if (row === undefined || to <= from) continue;
    const text = names[name] ?? "";
    const colour = count > 1 ? -1 : colourOf(text);
    const box = `M${from.toFixed(1)} 0H${to.toFixed(1)}V${height}H${from.toFixed(1)}Z`;
    row.paths.set(colour, (row.paths.get(colour) ?? "") + box);
    if (to - from > 34 && count === 1) row.labels.push({ x: from, width: to - from, text });
  }
  return { rows, deeper };
}

/** The slice at a place of a row, the shortest where several were drawn over each other. */
export function sliceAt(slices: readonly Slice[], depth: number, timePs: number): Slice | null {
  let found: Slice | null = null;
  for (const slice of slices) {
    const holds = slice[2] === depth && slice[0] <= timePs && timePs <= slice[0] + slice[1];
    if (holds && (found === null || slice[1] < found[1])) found = slice;
  }
  return found;
}
