/** Which tiles serve a view, and the store that keeps them. Pure of network and canvas.
 *
 * Time is cut by powers of two: a tile of level L spans TILE_PX pixels of 2^L picoseconds, counted from the run's start.
 * A tile's parent is at level L + 1 and half its index. */

import type { Picos, Px } from "../../base/units";
import type { Tile, TrackPart } from "./tile";
import type { Viewport } from "./viewport";
import { span } from "./viewport";

export const TILE_PX: Px = 1024;

export interface TileSpot {
  readonly level: number;
  readonly index: number;
}

export function levelOf(view: Viewport, width: Px): number {
  return Math.max(0, Math.floor(Math.log2(span(view) / Math.max(1, width))));
}

export function tileSpan(level: number): Picos {
  return TILE_PX * 2 ** level;
}

/** The level at which one tile holds everything. */
export function topLevel(bounds: Viewport): number {
  return Math.max(0, Math.ceil(Math.log2(Math.max(1, span(bounds)) / TILE_PX)));
}

export function tileRange(bounds: Viewport, spot: TileSpot): Viewport {
  const length = tileSpan(spot.level);
  const start = bounds.start + spot.index * length;
  return { start, end: start + length };
}

/** First and last index of the tiles of a level that touch a view, inside the bounds. */
export function indicesOf(bounds: Viewport, view: Viewport, level: number): readonly [number, number] {
  const length = tileSpan(level);
  const last = Math.max(0, Math.ceil(span(bounds) / length) - 1);
  const at = (time: Picos): number => Math.min(last, Math.max(0, Math.floor((time - bounds.start) / length)));
  return [at(view.start), at(Math.max(view.start, view.end - 1))];
}

/** What a view wants, most urgent first: its own tiles, the whole run at its coarsest, then the neighbours on both sides. */
export function wantedTiles(bounds: Viewport, view: Viewport, width: Px): { readonly now: TileSpot[]; readonly soon: TileSpot[] } {
  const top = topLevel(bounds);
  const level = Math.min(top, levelOf(view, width));
  const [first, last] = indicesOf(bounds, view, level);
  const [, end] = indicesOf(bounds, bounds, level);
  const now = Array.from({ length: last - first + 1 }, (_, i) => ({ level, index: first + i }));
  const soon: TileSpot[] = [];
  if (level < top) soon.push({ level: top, index: 0 });
  if (last < end) soon.push({ level, index: last + 1 });
  if (first > 0) soon.push({ level, index: first - 1 });
  return { now, soon };
}

interface Column {
  readonly parts: Map<number, TrackPart>;
  bytes: number;
  used: number;
}

/** Tiles by place and track. Past the limit those not used for longest go. */
export class TileStore {
  private readonly columns = new Map<string, Column>();
  private clock = 0;
  bytes = 0;

  constructor(private readonly limit: number) {}

  /** Which of these tracks a place lacks. */
  missing(spot: TileSpot, tracks: readonly number[]): number[] {
    const column = this.columns.get(key(spot.level, spot.index));
    return column === undefined ? [...tracks] : tracks.filter((track) => !column.parts.has(track));
  }

  put(spot: TileSpot, tracks: readonly number[], tile: Tile): void {
    const at = key(spot.level, spot.index);
    const column = this.columns.get(at) ?? { parts: new Map(), bytes: 0, used: 0 };
    this.columns.set(at, column);
    for (const track of tracks) column.parts.set(track, tile.tracks.get(track) ?? { tile, from: 0, to: 0, rows: [] });
    // Texts are decoded besides the buffer; twice its size is near what a tile holds.
    column.bytes += tile.bytes * 2;
    this.bytes += tile.bytes * 2;
    column.used = this.clock += 1;
    this.evict();
  }

  /** The part of a track at a place; reading it keeps it. */
  part(level: number, index: number, track: number): TrackPart | undefined {
    const column = this.columns.get(key(level, index));
    if (column === undefined) return undefined;
    column.used = this.clock += 1;
    return column.parts.get(track);
  }

  clear(): void {
    this.columns.clear();
    this.bytes = 0;
  }

  private evict(): void {
    if (this.bytes <= this.limit) return;
    const oldest = [...this.columns].sort((a, b) => a[1].used - b[1].used);
    for (const [at, column] of oldest) {
      if (this.bytes <= this.limit * 0.75) return;
      this.columns.delete(at);
      this.bytes -= column.bytes;
    }
  }
}

/** A text key is made once for each tile and track in view, not for each slice. */
function key(level: number, index: number): string {
  return `${level}:${index}`;
}

/** Calls `use` for each stretch of the view with the best part there is: the level wanted, else a coarser one, else finer
 * ones. `continued`: the part before it has drawn
 * what began before the clip. */
export function bestParts(
  store: TileStore,
  bounds: Viewport,
  view: Viewport,
  width: Px,
  track: number,
  use: (part: TrackPart, clipStart: Picos, clipEnd: Picos, continued: boolean) => void,
): void {
  const top = topLevel(bounds);
  const level = Math.min(top, levelOf(view, width));
  const [first, last] = indicesOf(bounds, view, level);
  let continued = false;
  for (let index = first; index <= last; index += 1) {
    const length = tileSpan(level);
    const start = bounds.start + index * length;
    const part = store.part(level, index, track);
    if (part !== undefined) {
      use(part, start, start + length, continued);
      continued = true;
      continue;
    }
    continued = false;
    if (!coarser(store, bounds, level, top, index, track, use)) finer(store, bounds, level, index, track, use);
  }
}

type Use = (part: TrackPart, clipStart: Picos, clipEnd: Picos, continued: boolean) => void;

function coarser(store: TileStore, bounds: Viewport, level: number, top: number, index: number, track: number, use: Use): boolean {
  const start = bounds.start + index * tileSpan(level);
  for (let up = level + 1; up <= top; up += 1) {
    // Not by shifts: an index may be longer than 32 bits.
    const part = store.part(up, Math.floor(index / 2 ** (up - level)), track);
    if (part === undefined) continue;
    use(part, start, start + tileSpan(level), false);
    return true;
  }
  return false;
}

/** After zooming out: what was in view before, two levels down at most. */
function finer(store: TileStore, bounds: Viewport, level: number, index: number, track: number, use: Use): void {
  for (const down of [1, 2]) {
    if (level < down) return;
    let found = false;
    for (let child = index * 2 ** down; child < (index + 1) * 2 ** down; child += 1) {
      const part = store.part(level - down, child, track);
      if (part === undefined) continue;
      const start = bounds.start + child * tileSpan(level - down);
      use(part, start, start + tileSpan(level - down), false);
      found = true;
    }
    if (found) return;
  }
}
