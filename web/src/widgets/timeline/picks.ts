/** Questions about loaded slices: which stands here, which comes next. Pure. */

import type { Picos, Px } from "../../base/units";
import type { ClassTable } from "./classes";
import type { TileRow, TrackPart } from "./tile";
import { firstAfter } from "./tile";
import type { TileStore } from "./tiles";
import { bestParts } from "./tiles";
import type { Viewport } from "./viewport";
import { span } from "./viewport";

/** One slice, taken out of its tile. */
export interface Picked {
  readonly track: number;
  readonly start: Picos;
  readonly duration: Picos;
  readonly depth: number;
  readonly name: string;
  /** Row in its line, or -1 where several events share the slice. */
  readonly event: number;
  readonly count: number;
  readonly className: string;
}

export interface Loaded {
  readonly store: TileStore;
  readonly bounds: Viewport;
  readonly view: Viewport;
  readonly width: Px;
}

export function pickedFrom(part: TrackPart, i: number, track: number): Picked {
  const { tile } = part;
  return {
    track,
    start: tile.start + (tile.starts[i] ?? 0),
    duration: tile.durations[i] ?? 0,
    depth: tile.depths[i] ?? 0,
    name: tile.nameTexts[tile.names[i] ?? -1] ?? "",
    event: tile.events[i] ?? -1,
    count: tile.counts[i] ?? 1,
    className: tile.classTexts[tile.classes[i] ?? -1] ?? "",
  };
}

/** The slice at a time and depth; a null depth takes the deepest there. `slack` lets the pointer miss a thin slice. */
export function sliceAt(loaded: Loaded, track: number, time: Picos, depth: number | null, slack: Picos): Picked | null {
  let best: Picked | null = null;
  let distance = Number.POSITIVE_INFINITY;
  const near = { start: time - slack, end: time + slack };
  const view = { start: Math.max(loaded.view.start, near.start), end: Math.min(loaded.view.end, near.end) };
  // The parts are those of the whole view: a piece of it would be of another level.
  bestParts(loaded.store, loaded.bounds, loaded.view, loaded.width, track, (part, clipStart, clipEnd) => {
    if (clipEnd < view.start || clipStart > view.end) return;
    for (const row of part.rows) {
      if (depth !== null && row.depth !== depth) continue;
      const { tile } = part;
      for (let i = firstAfter(tile, row, near.start - tile.start); i < row.to; i += 1) {
        const start = tile.start + (tile.starts[i] ?? 0);
        if (start > near.end) break;
        const end = start + (tile.durations[i] ?? 0);
        const off = time < start ? start - time : time > end ? time - end : 0;
        const deeper = off === distance && best !== null && row.depth > best.depth;
        if (off > slack || (off >= distance && !deeper)) continue;
        best = pickedFrom(part, i, track);
        distance = off;
      }
    }
  });
  return best;
}

/** The slice before or after another on its row, as far as tiles are there. */
export function neighbour(loaded: Loaded, from: Picked, direction: 1 | -1): Picked | null {
  let best: Picked | null = null;
  const wide = { start: loaded.view.start - span(loaded.view), end: loaded.view.end + span(loaded.view) };
  for (const view of [wide, loaded.bounds]) {
    // A wider view has as many more pixels, so that it asks for the same level.
    const width = view === wide ? loaded.width * 3 : loaded.width;
    bestParts(loaded.store, loaded.bounds, view, width, from.track, (part) => {
      const row = part.rows.find((one) => one.depth === from.depth);
      const i = row === undefined ? -1 : besideIn(part, row, from.start, direction);
      if (i < 0) return;
      const found = pickedFrom(part, i, from.track);
      if (best === null || (direction === 1 ? found.start < best.start : found.start > best.start)) best = found;
    });
    if (best !== null) return best;
  }
  return best;
}

function besideIn(part: TrackPart, row: TileRow, time: Picos, direction: 1 | -1): number {
  const { tile } = part;
  let [low, high] = [row.from, row.to];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const start = tile.start + (tile.starts[middle] ?? 0);
    if (direction === 1 ? start <= time : start < time) low = middle + 1;
    else high = middle;
  }
  const i = direction === 1 ? low : low - 1;
  return i >= row.from && i < row.to ? i : -1;
}

/** The slices in view on some tracks, in time order, at most `limit`; `more` says that there are others. */
export function slicesInView(
  loaded: Loaded,
  tracks: readonly number[],
  limit: number,
): { readonly slices: Picked[]; readonly more: boolean } {
  const slices: Picked[] = [];
  let more = false;
  for (const track of tracks) {
    eachInView(loaded, track, (part, i) => {
      if (slices.length >= limit) more = true;
      else slices.push(pickedFrom(part, i, track));
    });
  }
  return { slices: slices.sort((a, b) => a.start - b.start || a.track - b.track || a.depth - b.depth), more };
}

/** Calls `use` once for each slice in view. */
export function eachInView(loaded: Loaded, track: number, use: (part: TrackPart, i: number) => void): void {
  const { view } = loaded;
  bestParts(loaded.store, loaded.bounds, view, loaded.width, track, (part, clipStart, clipEnd, continued) => {
    const { tile } = part;
    const from = Math.max(view.start, clipStart);
    const to = Math.min(view.end, clipEnd);
    for (const row of part.rows) {
      for (let i = firstAfter(tile, row, from - tile.start); i < row.to; i += 1) {
        const start = tile.start + (tile.starts[i] ?? 0);
        if (start >= to) break;
        if (continued && start < clipStart) continue;
        if (start + (tile.durations[i] ?? 0) < from) continue;
        use(part, i);
      }
    }
  });
}

export interface ClassCount {
  readonly id: number;
  readonly name: string;
  readonly count: number;
  /** Some of the events in view share slices with others, whose class was counted: no class has an exact number. */
  readonly about: boolean;
}

/** How many events of each class are in view, most first; `id` -1 stands for those of no class. */
export function classesInView(loaded: Loaded, tracks: readonly number[], table: ClassTable): ClassCount[] {
  const counts = new Map<number, number>();
  // A slice that several events share counts with the class of the longest: what it adds to one class any other may lack.
  let about = false;
  for (const track of tracks) {
    eachInView(loaded, track, (part, i) => {
      const id = table.idsOf(part.tile)[part.tile.classes[i] ?? 255] ?? -1;
      const events = part.tile.counts[i] ?? 1;
      counts.set(id, (counts.get(id) ?? 0) + events);
      about ||= events > 1;
    });
  }
  return [...counts]
    .map(([id, count]) => ({ id, name: table.names[id] ?? "", count, about }))
    .sort((a, b) => (a.id < 0 ? 1 : 0) - (b.id < 0 ? 1 : 0) || b.count - a.count || a.name.localeCompare(b.name));
}

/** An event by its row in its line, where it is drawn on its own. */
export function findEvent(loaded: Loaded, track: number, event: number, start: Picos): Picked | null {
  let found: Picked | null = null;
  bestParts(loaded.store, loaded.bounds, loaded.view, loaded.width, track, (part) => {
    const { tile } = part;
    for (const row of part.rows) {
      for (let i = firstAfter(tile, row, start - tile.start); found === null && i < row.to; i += 1) {
        if (tile.start + (tile.starts[i] ?? 0) > start) break;
        if (tile.events[i] === event) found = pickedFrom(part, i, track);
      }
    }
  });
  return found;
}
