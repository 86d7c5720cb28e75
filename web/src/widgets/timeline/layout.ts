/** Where groups and tracks stand, from top to bottom. Pure; knows neither time nor canvas.
 *
 * Heights are CSS pixels from the top of the content (below the ruler):
 *
 *     group header   GROUP_HEIGHT
 *     track          depth x slice height + TRACK_PAD
 */

import type { TrackGroup, TrackInfo } from "../../api/types";
import type { Px } from "../../base/units";

export const GROUP_HEIGHT = 26;
export const SLICE_HEIGHT = 18;
/** A device's track with more levels than `FEW_LEVELS` holds asynchronous ops side by side: seeing how many run at once
 * matters more than their names, and the next device should not be a screen away. */
export const THIN_HEIGHT = 8;
const FEW_LEVELS = 6;
export const TRACK_PAD = 7;
/** Deeper stacks than this are cut; the server's `depth` can be as deep as a Python stack. */
export const MAX_DEPTH = 40;

/** Hosts with more threads than this, all together, start closed where there are devices to look at. */
const MANY_THREADS = 12;

export function closedAtFirst(groups: readonly TrackGroup[]): string[] {
  if (!groups.some((group) => group.kind === "device")) return [];
  const hosts = groups.filter((group) => group.kind === "host");
  const threads = hosts.reduce((sum, group) => sum + group.tracks.length, 0);
  return threads > MANY_THREADS ? hosts.map((group) => group.id) : [];
}

export interface GroupRow {
  readonly kind: "group";
  readonly group: TrackGroup;
  readonly open: boolean;
  readonly y: Px;
  readonly height: Px;
}

export interface TrackRow {
  readonly kind: "track";
  readonly group: TrackGroup;
  readonly track: TrackInfo;
  /** Height of one level. */
  readonly slice: Px;
  readonly y: Px;
  readonly height: Px;
}

export type Row = GroupRow | TrackRow;

export interface Layout {
  readonly rows: readonly Row[];
  readonly height: Px;
}

export function layOut(groups: readonly TrackGroup[], closed: ReadonlySet<string>): Layout {
  const rows: Row[] = [];
  let y = 0;
  for (const group of groups) {
    const open = !closed.has(group.id);
    rows.push({ kind: "group", group, open, y, height: GROUP_HEIGHT });
    y += GROUP_HEIGHT;
    if (!open) continue;
    for (const track of group.tracks) {
      const slice = group.kind === "device" && track.depth > FEW_LEVELS ? THIN_HEIGHT : SLICE_HEIGHT;
      const height = Math.min(MAX_DEPTH, Math.max(1, track.depth)) * slice + TRACK_PAD;
      rows.push({ kind: "track", group, track, slice, y, height });
      y += height;
    }
  }
  return { rows, height: y };
}

export function rowAt(layout: Layout, y: Px): Row | null {
  return layout.rows.find((row) => y >= row.y && y < row.y + row.height) ?? null;
}

/** Rows that touch the part between two heights. */
export function rowsBetween(layout: Layout, top: Px, bottom: Px): readonly Row[] {
  return layout.rows.filter((row) => row.y + row.height > top && row.y < bottom);
}

export function depthAt(row: TrackRow, y: Px): number {
  return Math.floor((y - row.y - TRACK_PAD / 2) / row.slice);
}

export function sliceTop(row: TrackRow, depth: number): Px {
  return row.y + TRACK_PAD / 2 + depth * row.slice;
}

export function trackIds(layout: Layout): number[] {
  return layout.rows.flatMap((row) => (row.kind === "track" ? [row.track.id] : []));
}
