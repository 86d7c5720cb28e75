/** Where hosts, devices and lines stand, from top to bottom. Pure; knows neither time nor canvas.
 *
 * Heights are CSS pixels from the top of the content (below the rulers):
 *
 *     host, device   GROUP_HEIGHT
 *     line           depth x slice height + TRACK_PAD
 *
 * Pinned rows stand in a list of their own, which does not scroll. */

import type { TrackGroup, TrackInfo } from "../../api/timeline";
import type { Px } from "../../base/units";

export const GROUP_HEIGHT = 26;
export const SLICE_HEIGHT = 18;
/** A device's track with more levels than `FEW_LEVELS` holds asynchronous ops side by side: seeing how many run at once
 * matters more than their names, and the next device should not be a screen away. */
export const THIN_HEIGHT = 8;
const FEW_LEVELS = 6;
export const TRACK_PAD = 7;
/** A track squeezed to one row: as tall as its name. */
export const FLAT_HEIGHT = 13;
export const COUNTER_HEIGHT = 40;
/** Deeper stacks than this are cut; the server's `depth` can be as deep as a Python stack. */
export const MAX_DEPTH = 40;

/** Hosts with more threads than this, all together, start closed where there are devices to look at. */
const MANY_THREADS = 12;
/** More devices than this start closed but for the first few. */
const MANY_DEVICES = 8;
const OPEN_DEVICES = 2;

/** Tracks of asynchronous work with more rows than this are folded at first. */
const FOLDED_FROM = 4;

export function closedAtFirst(groups: readonly TrackGroup[]): string[] {
  const devices = groups.filter((group) => group.kind === "device");
  if (devices.length === 0) return [];
  const hosts = groups.filter((group) => group.kind === "host");
  const threads = hosts.reduce((sum, group) => sum + group.tracks.length, 0);
  const closed = threads > MANY_THREADS ? hosts : [];
  const rest = devices.length > MANY_DEVICES ? devices.slice(OPEN_DEVICES) : [];
  const groupsClosed = groups.filter((group) => closed.includes(group) || rest.includes(group)).map((group) => group.id);
  // What runs beside the ops takes many rows and says little at once: one thin row says when.
  const folded = groups.flatMap((group) => group.tracks.filter((track) => track.kind === "async" && track.depth > FOLDED_FROM));
  return [...groupsClosed, ...folded.map((track) => `t${track.id}`)];
}

/** How a person has arranged the tracks. Keys: `h:NAME` of a host, a group's id, `t12` of a track. */
export interface Arrangement {
  /** Closed hosts and groups, and tracks squeezed to one thin row. */
  readonly closed: ReadonlySet<string>;
  readonly hidden: ReadonlySet<string>;
  readonly pinned: readonly string[];
  /** Keys in the order wanted; siblings that it does not name stay where they were. */
  readonly order: readonly string[];
  /** Words that a track's names must hold; `-word` must not occur. */
  readonly filter: string;
}

export const AS_IT_COMES: Arrangement = { closed: new Set(), hidden: new Set(), pinned: [], order: [], filter: "" };

interface Placed {
  readonly key: string;
  readonly y: Px;
  readonly height: Px;
}

export interface HostRow extends Placed {
  readonly kind: "host";
  readonly host: string;
  readonly open: boolean;
  readonly groups: number;
}

export interface GroupRow extends Placed {
  readonly kind: "group";
  readonly group: TrackGroup;
  readonly open: boolean;
  /** While closed: the tracks whose slices are drawn into the row. */
  readonly summary: readonly TrackInfo[];
}

export interface TrackRow extends Placed {
  readonly kind: "track";
  readonly group: TrackGroup;
  readonly track: TrackInfo;
  /** Squeezed to one thin row. */
  readonly flat: boolean;
  readonly pinned: boolean;
  /** Height of one level. */
  readonly slice: Px;
}

export type Row = HostRow | GroupRow | TrackRow;

export interface Layout {
  readonly rows: readonly Row[];
  readonly height: Px;
  readonly pinned: readonly Row[];
  readonly pinnedHeight: Px;
  /** Tracks and groups that hiding or the filter keeps away. */
  readonly away: number;
}

export function trackKey(track: TrackInfo): string {
  return `t${track.id}`;
}

export function hostKey(host: string): string {
  return `h:${host}`;
}

/** The host of a group; groups of an older server carry it in front of a slash in their name. */
export function hostOf(group: TrackGroup): string {
  return group.host ?? "";
}

/** Siblings in the order wanted. */
export function ordered<T>(items: readonly T[], keyOf: (item: T) => string, order: readonly string[]): T[] {
  const named = items.filter((item) => order.includes(keyOf(item)));
  const wanted = [...named].sort((a, b) => order.indexOf(keyOf(a)) - order.indexOf(keyOf(b)));
  // The places of the named ones are filled in the order wanted; the others keep theirs.
  return items.map((item) => (named.includes(item) ? (wanted.shift() ?? item) : item));
}

export function hostsOf(groups: readonly TrackGroup[], order: readonly string[] = []): string[] {
  return ordered([...new Set(groups.map(hostOf))], hostKey, order);
}

function matches(filter: string, text: string): boolean {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const where = text.toLowerCase();
  return words.every((word) => (word.startsWith("-") && word.length > 1 ? !where.includes(word.slice(1)) : where.includes(word)));
}

function trackRow(group: TrackGroup, track: TrackInfo, flat: boolean, pinned: boolean, y: Px): TrackRow {
  const thin = group.kind === "device" && track.kind !== "derived" && track.kind !== "framework" && track.depth > FEW_LEVELS;
  const slice = flat ? FLAT_HEIGHT : thin ? THIN_HEIGHT : SLICE_HEIGHT;
  const levels = flat ? 1 : Math.min(MAX_DEPTH, Math.max(1, track.depth));
  const height = track.counter === true ? (flat ? FLAT_HEIGHT + TRACK_PAD : COUNTER_HEIGHT) : levels * slice + TRACK_PAD;
  return { kind: "track", key: trackKey(track), group, track, flat, pinned, slice, y, height };
}

const SUMMARY_TRACKS = 3;

/** A device is summed up by its ops, a host by its busiest threads. */
function summaryOf(group: TrackGroup): TrackInfo[] {
  const events = group.tracks.filter((track) => track.counter !== true && track.events > 0);
  const ops = events.filter((track) => track.kind === "ops" || track.kind === "stream");
  const most = [...(ops.length > 0 ? ops : events)].sort((a, b) => b.events - a.events || a.id - b.id);
  return most.slice(0, group.kind === "device" ? 1 : SUMMARY_TRACKS);
}

export function layOut(groups: readonly TrackGroup[], how: Arrangement): Layout {
  const rows: Row[] = [];
  let away = 0;
  let y = 0;
  const put = (row: Row): void => {
    rows.push(row);
    y += row.height;
  };
  const shown = (group: TrackGroup): TrackInfo[] => {
    if (how.hidden.has(group.id)) return [];
    return group.tracks.filter((track) => !how.hidden.has(trackKey(track)) && matches(how.filter, `${group.name} ${track.name}`));
  };
  const hosts = hostsOf(groups, how.order);
  for (const host of hosts) {
    const own = groups.filter((group) => hostOf(group) === host);
    const several = hosts.length > 1 && host !== "";
    const open = !several || !how.closed.has(hostKey(host));
    const visible = how.hidden.has(hostKey(host)) ? [] : own.filter((group) => shown(group).length > 0 || group.tracks.length === 0);
    away += own.length - visible.length;
    if (visible.length === 0) continue;
    if (several) put({ kind: "host", key: hostKey(host), host, open, groups: visible.length, y, height: GROUP_HEIGHT });
    if (!open) continue;
    for (const group of ordered(visible, (one) => one.id, how.order)) {
      const isOpen = !how.closed.has(group.id);
      put({ kind: "group", key: group.id, group, open: isOpen, summary: isOpen ? [] : summaryOf(group), y, height: GROUP_HEIGHT });
      const tracks = shown(group);
      away += group.tracks.length - tracks.length;
      if (!isOpen) continue;
      for (const track of ordered(tracks, trackKey, how.order)) {
        if (how.pinned.includes(trackKey(track))) continue;
        put(trackRow(group, track, how.closed.has(trackKey(track)), false, y));
      }
    }
  }
  const pinned = pinnedRows(groups, how);
  const last = pinned.at(-1);
  return { rows, height: y, pinned, pinnedHeight: last === undefined ? 0 : last.y + last.height, away };
}

function pinnedRows(groups: readonly TrackGroup[], how: Arrangement): TrackRow[] {
  const rows: TrackRow[] = [];
  let y = 0;
  for (const key of how.pinned) {
    for (const group of groups) {
      const track = group.tracks.find((one) => trackKey(one) === key);
      if (track === undefined) continue;
      const row = trackRow(group, track, how.closed.has(key), true, y);
      rows.push(row);
      y += row.height;
    }
  }
  return rows;
}

export function rowAt(rows: readonly Row[], y: Px): Row | null {
  return rows.find((row) => y >= row.y && y < row.y + row.height) ?? null;
}

/** Index of the first row that reaches below a height; rows stand without gaps. */
export function firstRowBelow(rows: readonly Row[], top: Px): number {
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const row = rows[middle];
    if (row !== undefined && row.y + row.height <= top) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Rows that touch the part between two heights. */
export function rowsBetween(rows: readonly Row[], top: Px, bottom: Px): readonly Row[] {
  const first = firstRowBelow(rows, top);
  let end = first;
  while (end < rows.length && (rows[end] as Row).y < bottom) end += 1;
  return rows.slice(first, end);
}

export function depthAt(row: TrackRow, y: Px): number {
  return row.flat ? 0 : Math.floor((y - row.y - TRACK_PAD / 2) / row.slice);
}

export function sliceTop(row: TrackRow, depth: number): Px {
  return row.y + TRACK_PAD / 2 + (row.flat ? 0 : depth * row.slice);
}

/** The tracks of event slices that a row draws. */
export function tracksOfRow(row: Row): readonly TrackInfo[] {
  if (row.kind === "track") return row.track.counter === true ? [] : [row.track];
  return row.kind === "group" ? row.summary : [];
}

export function trackIds(layout: Layout): number[] {
  return [...layout.pinned, ...layout.rows].flatMap((row) => (row.kind === "track" && row.track.counter !== true ? [row.track.id] : []));
}

/** A new order after moving one key up or down among its siblings. */
export function movedAmong(siblings: readonly string[], order: readonly string[], key: string, by: number): string[] {
  const now = ordered(siblings, (one) => one, order);
  const from = now.indexOf(key);
  const to = Math.min(now.length - 1, Math.max(0, from + by));
  if (from < 0 || from === to) return [...order];
  now.splice(to, 0, ...now.splice(from, 1));
  return [...order.filter((one) => !siblings.includes(one)), ...now];
}

/** The keys that a key may change places with. */
export function siblingsOf(groups: readonly TrackGroup[], key: string): string[] {
  const hosts = hostsOf(groups).map(hostKey);
  if (hosts.includes(key)) return hosts;
  const group = groups.find((one) => one.id === key);
  if (group !== undefined) return groups.filter((one) => hostOf(one) === hostOf(group)).map((one) => one.id);
  return groups.find((one) => one.tracks.some((track) => trackKey(track) === key))?.tracks.map(trackKey) ?? [];
}
