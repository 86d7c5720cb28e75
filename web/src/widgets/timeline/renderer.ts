/** Draws a scene onto a canvas. It decides nothing: what to draw and where comes with the scene. */

import type { Slice } from "../../api/types";
import type { Picos, Px } from "../../base/units";
import type { Layout, TrackRow } from "./layout";
import { SLICE_HEIGHT, rowsBetween, sliceTop } from "./layout";
import type { Palette } from "./palette";
import { sliceColour } from "./palette";
import { rulerTicks } from "./ruler";
import { fitText } from "./slices";
import type { Viewport } from "./viewport";
import { timeToPx } from "./viewport";

export const RULER_HEIGHT = 28;

/** An answer of the server, ready to draw. */
export interface Layer extends Viewport {
  readonly names: readonly string[];
  readonly slices: ReadonlyMap<number, readonly Slice[]>;
}

export interface Picked {
  readonly track: number;
  readonly slice: Slice;
}

export interface Scene {
  readonly width: Px;
  readonly height: Px;
  readonly scrollTop: Px;
  readonly view: Viewport;
  readonly layout: Layout;
  /** Coarse first, fine last; a finer layer hides the coarser ones where it reaches. */
  readonly layers: readonly Layer[];
  readonly palette: Palette;
  readonly selected: Picked | null;
  readonly hovered: Picked | null;
  /** The scope of the other pages, shaded outside. */
  readonly scope: Viewport | null;
  /** The stretch being measured. */
  readonly range: Viewport | null;
}

export interface Renderer {
  draw(scene: Scene): void;
}

const FONT = '11px system-ui, "Segoe UI", Roboto, sans-serif';
/** Narrower slices show colour only. */
const TEXT_FROM: Px = 28;

export class CanvasRenderer implements Renderer {
  private charWidth = 6;

  constructor(private readonly canvas: HTMLCanvasElement) {}

  draw(scene: Scene): void {
    const context = this.canvas.getContext("2d", { alpha: false });
    if (context === null) return;
    const ratio = devicePixelRatio || 1;
    const [deviceWidth, deviceHeight] = [Math.round(scene.width * ratio), Math.round(scene.height * ratio)];
    if (this.canvas.width !== deviceWidth || this.canvas.height !== deviceHeight) {
      this.canvas.width = deviceWidth;
      this.canvas.height = deviceHeight;
    }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.font = FONT;
    context.textBaseline = "middle";
    this.charWidth = context.measureText("abcdefghijklmnopqrstuvwxyz.0123456789").width / 37;
    context.fillStyle = scene.palette.background;
    context.fillRect(0, 0, scene.width, scene.height);
    this.drawRows(context, scene);
    this.drawShades(context, scene);
    this.drawRuler(context, scene);
  }

  private drawRows(context: CanvasRenderingContext2D, scene: Scene): void {
    const { palette, width } = scene;
    const offset = RULER_HEIGHT - scene.scrollTop;
    const ticks = rulerTicks(scene.view, width);
    const rows = rowsBetween(scene.layout, scene.scrollTop, scene.scrollTop + scene.height);
    for (const row of rows) {
      if (row.kind !== "group") continue;
      context.fillStyle = palette.band;
      context.fillRect(0, row.y + offset, width, row.height);
    }
    context.fillStyle = palette.line;
    for (const tick of ticks) context.fillRect(Math.round(tick.px), RULER_HEIGHT, 1, scene.height);
    for (const row of rows) {
      context.fillStyle = palette.line;
      context.fillRect(0, row.y + row.height + offset - 1, width, 1);
      if (row.kind === "track") this.drawTrack(context, scene, row, offset);
    }
  }

  private drawTrack(context: CanvasRenderingContext2D, scene: Scene, row: TrackRow, offset: Px): void {
    scene.layers.forEach((layer, i) => {
      const slices = layer.slices.get(row.track.id);
      if (slices === undefined) return;
      const finer = scene.layers.slice(i + 1).find((other) => other.slices.has(row.track.id));
      for (const piece of uncovered(scene, finer ?? null)) this.drawSlices(context, scene, row, layer, slices, piece, offset);
    });
    for (const picked of [scene.hovered, scene.selected]) {
      if (picked?.track === row.track.id) this.outline(context, scene, row, picked.slice, offset, picked === scene.selected);
    }
  }

  private drawSlices(
    context: CanvasRenderingContext2D,
    scene: Scene,
    row: TrackRow,
    layer: Layer,
    slices: readonly Slice[],
    piece: Viewport,
    offset: Px,
  ): void {
    const { palette, view, width } = scene;
    const left = Math.max(0, timeToPx(view, width, piece.start));
    const right = Math.min(width, timeToPx(view, width, piece.end));
    const named = row.slice >= SLICE_HEIGHT;
    for (const [start, duration, depth, name, count] of slices) {
      const x0 = Math.max(left, timeToPx(view, width, start));
      const x1 = Math.min(right, timeToPx(view, width, start + duration));
      if (x1 < left || x0 > right || x0 > x1) continue;
      const top = sliceTop(row, depth) + offset;
      if (top > row.y + row.height + offset || top + row.slice < RULER_HEIGHT) continue;
      // At least a visible sliver; one pixel of air between neighbours once there is room for it.
      const wide = Math.max(0.75, x1 - x0 > 3 ? x1 - x0 - 1 : x1 - x0);
      const text = layer.names[name] ?? "";
      context.fillStyle = count > 1 && text === "" ? palette.merged : sliceColour(palette, text);
      context.fillRect(x0, top, wide, row.slice - (named ? 2 : 1));
      if (!named || wide < TEXT_FROM) continue;
      const label = fitText(count > 1 ? `${count} events` : text, wide - 8, this.charWidth);
      if (label === "") continue;
      context.fillStyle = palette.sliceText;
      context.fillText(label, x0 + 4, top + row.slice / 2 - 0.5);
    }
  }

  private outline(context: CanvasRenderingContext2D, scene: Scene, row: TrackRow, slice: Slice, offset: Px, strong: boolean): void {
    const x0 = Math.max(-4, timeToPx(scene.view, scene.width, slice[0]));
    const x1 = Math.min(scene.width + 4, timeToPx(scene.view, scene.width, slice[0] + slice[1]));
    context.strokeStyle = strong ? scene.palette.accent : scene.palette.text;
    context.lineWidth = strong ? 2 : 1;
    context.strokeRect(x0, sliceTop(row, slice[2]) + offset - 0.5, Math.max(2, x1 - x0), row.slice - 1);
  }

  private drawShades(context: CanvasRenderingContext2D, scene: Scene): void {
    const at = (time: Picos): Px => timeToPx(scene.view, scene.width, time);
    if (scene.scope !== null) {
      context.fillStyle = scene.palette.shade;
      context.fillRect(0, RULER_HEIGHT, Math.max(0, at(scene.scope.start)), scene.height);
      context.fillRect(at(scene.scope.end), RULER_HEIGHT, Math.max(0, scene.width - at(scene.scope.end)), scene.height);
    }
    if (scene.range !== null) {
      context.fillStyle = scene.palette.range;
      context.fillRect(at(scene.range.start), 0, at(scene.range.end) - at(scene.range.start), scene.height);
    }
  }

  private drawRuler(context: CanvasRenderingContext2D, scene: Scene): void {
    const { palette, width } = scene;
    context.fillStyle = palette.background;
    context.fillRect(0, 0, width, RULER_HEIGHT);
    if (scene.range !== null) {
      const [x0, x1] = [timeToPx(scene.view, width, scene.range.start), timeToPx(scene.view, width, scene.range.end)];
      context.fillStyle = palette.accent;
      context.fillRect(x0, RULER_HEIGHT - 4, x1 - x0, 3);
    }
    context.fillStyle = palette.line;
    context.fillRect(0, RULER_HEIGHT - 1, width, 1);
    for (const tick of rulerTicks(scene.view, width)) {
      context.fillStyle = palette.line;
      context.fillRect(Math.round(tick.px), RULER_HEIGHT - 8, 1, 8);
      context.fillStyle = palette.muted;
      const room = width - tick.px - 4;
      if (context.measureText(tick.text).width < room) context.fillText(tick.text, Math.round(tick.px) + 4, RULER_HEIGHT / 2);
    }
  }
}

/** The parts of the view that a finer layer does not reach. */
function uncovered(scene: Scene, finer: Layer | null): Viewport[] {
  const { view } = scene;
  if (finer === null) return [view];
  const pieces: Viewport[] = [];
  if (finer.start > view.start) pieces.push({ start: view.start, end: Math.min(view.end, finer.start) });
  if (finer.end < view.end) pieces.push({ start: Math.max(view.start, finer.end), end: view.end });
  return pieces;
}
