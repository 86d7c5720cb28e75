/** Draws slices, the part of a frame that counts: nothing is allocated for a slice, colours are set once for all slices of
 * one colour, and of slices that fall onto one pixel one is drawn. */

import type { Px } from "../../base/units";
import { ALL_COLOURS, PLAIN_COLOURS, SLICE_COLOURS } from "./classes";
import type { GroupRow, TrackRow } from "./layout";
import { MAX_DEPTH, SLICE_HEIGHT, sliceTop } from "./layout";
import type { Scene } from "./scene";
import type { TrackPart } from "./tile";
import { firstAfter } from "./tile";
import { bestParts } from "./tiles";

export const FONT = '11px system-ui, "Segoe UI", Roboto, sans-serif';
/** Narrower slices show colour only. */
const TEXT_FROM: Px = 28;
const TEXT_AIR: Px = 8;
const DIM = 0.22;

/** Rectangles of one colour, in one growing array: x, y, width, height. */
class Bucket {
  values = new Float32Array(1024);
  length = 0;

  add(x: Px, y: Px, width: Px, height: Px): void {
    if (this.length + 4 > this.values.length) {
      const larger = new Float32Array(this.values.length * 2);
      larger.set(this.values);
      this.values = larger;
    }
    const { values, length } = this;
    values[length] = x;
    values[length + 1] = y;
    values[length + 2] = width;
    values[length + 3] = height;
    this.length = length + 4;
  }
}

/** What of a name fits into a width; measured once. */
class Labels {
  private readonly cut = new Map<string, string[]>();
  private charWidth = 6;

  measure(context: CanvasRenderingContext2D): void {
    const now = context.measureText("abcdefghijklmnopqrstuvwxyz.0123456789").width / 37;
    if (now === this.charWidth) return;
    this.charWidth = now;
    this.cut.clear();
  }

  fit(text: string, width: Px): string {
    const room = Math.floor(width / this.charWidth);
    if (text.length <= room) return text;
    if (room < 4) return "";
    let byRoom = this.cut.get(text);
    if (byRoom === undefined) {
      if (this.cut.size > 20_000) this.cut.clear();
      this.cut.set(text, (byRoom = []));
    }
    return (byRoom[room] ??= `${text.slice(0, room - 1)}…`);
  }
}

export class SlicePainter {
  private readonly bright = Array.from({ length: ALL_COLOURS }, () => new Bucket());
  private readonly dim = Array.from({ length: ALL_COLOURS }, () => new Bucket());
  private readonly labels = new Labels();
  private readonly texts: string[] = [];
  private readonly textAt = new Bucket();
  private ratio = 1;

  begin(context: CanvasRenderingContext2D, ratio: number): void {
    this.labels.measure(context);
    this.ratio = ratio;
  }

  /** Collects a track's slices. */
  track(scene: Scene, row: TrackRow, offset: Px): void {
    const named = row.slice >= SLICE_HEIGHT;
    const height = row.slice - (named ? 2 : 1);
    const first = sliceTop(row, 0) + offset;
    const step = row.flat ? 0 : row.slice;
    this.collect(scene, row.track.id, first, step, height, named, row.flat && row.track.nests === true);
  }

  /** Collects what sums up a closed group: a strip for each of its tracks, without names. */
  summary(scene: Scene, row: GroupRow, offset: Px): void {
    const height = (row.height - 8) / Math.max(1, row.summary.length);
    row.summary.forEach((track, i) => {
      this.collect(scene, track.id, row.y + offset + 4 + i * height, 0, Math.max(2, height - 1), false, true);
    });
  }

  /** Draws what was collected and forgets it. */
  flush(context: CanvasRenderingContext2D, scene: Scene): void {
    const { slices, sliceText } = scene.palette;
    context.globalAlpha = DIM;
    this.fill(context, this.dim, slices);
    context.globalAlpha = 1;
    this.fill(context, this.bright, slices);
    context.fillStyle = sliceText;
    const at = this.textAt.values;
    for (let i = 0; i < this.texts.length; i += 1) {
      context.fillText(this.texts[i] as string, at[i * 4] as number, at[i * 4 + 1] as number);
    }
    this.texts.length = 0;
    this.textAt.length = 0;
  }

  private fill(context: CanvasRenderingContext2D, buckets: readonly Bucket[], colours: readonly string[]): void {
    for (let colour = 0; colour < ALL_COLOURS; colour += 1) {
      const bucket = buckets[colour] as Bucket;
      if (bucket.length === 0) continue;
      context.fillStyle = colours[colour] as string;
      const { values, length } = bucket;
      for (let i = 0; i < length; i += 4) {
        context.fillRect(values[i] as number, values[i + 1] as number, values[i + 2] as number, values[i + 3] as number);
      }
      bucket.length = 0;
    }
  }

  private collect(scene: Scene, track: number, top: Px, step: Px, height: Px, named: boolean, outermost: boolean): void {
    bestParts(scene.store, scene.bounds, scene.view, scene.width, track, (part, clipStart, clipEnd, continued) => {
      this.part(scene, part, clipStart, clipEnd, continued, top, step, height, named, outermost);
    });
  }

  private part(
    scene: Scene,
    part: TrackPart,
    clipStart: number,
    clipEnd: number,
    continued: boolean,
    top: Px,
    step: Px,
    height: Px,
    named: boolean,
    outermost: boolean,
  ): void {
    const { tile } = part;
    const { starts, durations, counts, classes: tileClasses, names } = tile;
    const { view, width, highlight } = scene;
    const scale = width / (view.end - view.start);
    const shift = (tile.start - view.start) * scale;
    // A slice that is drawn by this part alone stops at its edges; in a row of tiles the first draws all of it.
    const left = Math.max(0, (clipStart - view.start) * scale);
    const right = Math.min(width, (clipEnd - view.start) * scale);
    const from = Math.max(view.start, clipStart) - tile.start;
    const to = Math.min(view.end, clipEnd) - tile.start;
    const before = clipStart - tile.start;
    const ids = scene.classes.idsOf(tile);
    const kin = scene.classes.nameColours(tile);
    const colours = scene.classes.colours;
    const finest = 1 / this.ratio;
    for (const row of part.rows) {
      if (row.depth >= MAX_DEPTH || (outermost && row.depth > 0)) continue;
      const y = top + row.depth * step;
      if (y > scene.height || y + height < 0) continue;
      let drawn = Number.NEGATIVE_INFINITY;
      for (let i = firstAfter(tile, row, from); i < row.to; i += 1) {
        const start = starts[i] as number;
        if (start >= to) break;
        const merged = (counts[i] as number) > 1;
        if (continued && !merged && start < before) continue;
        let x0 = shift + start * scale;
        let x1 = x0 + (durations[i] as number) * scale;
        if (x0 < left) x0 = left;
        // What one event of its own reaches beyond the tile is left to it; the neighbour skips it.
        const limit = merged ? right : width;
        if (x1 > limit) x1 = limit;
        let wide = x1 - x0;
        if (wide < finest) {
          x0 = Math.floor(x0 * this.ratio) * finest;
          wide = finest;
          if (x0 <= drawn) continue;
        }
        drawn = x0;
        // One pixel of air between neighbours once there is room for it.
        if (wide > 3) wide -= 1;
        const id = ids[tileClasses[i] as number] as number;
        const colour = scene.byName
          ? (kin[names[i] as number] as number)
          : id >= 0
            ? (colours[id] as number)
            : SLICE_COLOURS + ((kin[names[i] as number] as number) % PLAIN_COLOURS);
        const buckets = highlight !== null && id !== highlight ? this.dim : this.bright;
        (buckets[colour] as Bucket).add(x0, y, wide, height);
        if (!named || wide < TEXT_FROM) continue;
        const label = merged ? "" : this.labels.fit(tile.nameTexts[names[i] as number] as string, wide - TEXT_AIR);
        if (label === "") continue;
        this.texts.push(label);
        this.textAt.add(x0 + 4, y + height / 2 + 0.5, 0, 0);
      }
    }
  }
}
