/** Draws a scene onto a canvas. It decides nothing: what to draw and where comes with the scene. */

import type { Px } from "../../base/units";
import type { Row } from "./layout";
import { rowsBetween } from "./layout";
import { drawArea, drawFlows, drawHits, drawMarks, drawOutlines, drawScope } from "./overlays";
import { FONT, SlicePainter } from "./painter";
import { drawCounters, drawOverlap } from "./rowextras";
import { drawRulers } from "./rulers";
import { rulerTicks } from "./ruler";
import type { Renderer, Scene } from "./scene";
import { headOf, offsetOf } from "./scene";

export class CanvasRenderer implements Renderer {
  private readonly painter = new SlicePainter();

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
    this.painter.begin(context, ratio);
    context.fillStyle = scene.palette.background;
    context.fillRect(0, 0, scene.width, scene.height);
    const head = headOf(scene);
    const body = rowsBetween(scene.layout.rows, scene.scrollTop, scene.scrollTop + scene.height - head - scene.pinned);
    this.drawPart(context, scene, body, head + scene.pinned, scene.height);
    if (scene.pinned > 0) {
      context.fillStyle = scene.palette.background;
      context.fillRect(0, head, scene.width, scene.pinned);
      this.drawPart(context, scene, rowsBetween(scene.layout.pinned, 0, scene.pinned), head, head + scene.pinned);
      context.fillStyle = scene.palette.accent;
      context.fillRect(0, head + scene.pinned - 1, scene.width, 1);
    }
    drawScope(context, scene);
    drawArea(context, scene);
    drawFlows(context, scene);
    drawRulers(context, scene);
    drawMarks(context, scene);
  }

  /** Rows between two heights of the canvas. */
  private drawPart(context: CanvasRenderingContext2D, scene: Scene, rows: readonly Row[], top: Px, bottom: Px): void {
    const { palette, width } = scene;
    context.save();
    context.beginPath();
    context.rect(0, top, width, bottom - top);
    context.clip();
    context.fillStyle = palette.band;
    for (const row of rows) if (row.kind !== "track") context.fillRect(0, row.y + offsetOf(scene, row), width, row.height);
    context.fillStyle = palette.line;
    for (const tick of rulerTicks(scene.view, width)) context.fillRect(Math.round(tick.px), top, 1, bottom - top);
    for (const row of rows) context.fillRect(0, row.y + row.height + offsetOf(scene, row) - 1, width, 1);
    for (const row of rows) {
      const offset = offsetOf(scene, row);
      if (row.kind === "group" && !row.open) this.painter.summary(scene, row, offset);
      else if (row.kind === "track" && row.track.counter === true) drawCounters(context, scene, row, offset);
      else if (row.kind === "track") this.painter.track(scene, row, offset);
    }
    this.painter.flush(context, scene);
    if (scene.showOverlap || scene.showBubbles) drawOverlap(context, scene, rows);
    drawHits(context, scene, rows);
    drawOutlines(context, scene, rows);
    context.restore();
  }
}
