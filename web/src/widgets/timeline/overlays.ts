/** What lies over the tracks: scope, area, marks, hits, outlines and arrows. */

import type { FlowEnd, Hit } from "../../api/timeline";
import { formatDuration } from "../../base/format";
import type { Px } from "../../base/units";
import type { Row, TrackRow } from "./layout";
import { sliceTop } from "./layout";
import type { Picked } from "./picks";
import type { Scene } from "./scene";
import { RULER_HEIGHT, headOf, isTrack, offsetOf, xOf } from "./scene";

type Context = CanvasRenderingContext2D;

export function drawScope(context: Context, scene: Scene): void {
  if (scene.scope === null) return;
  const head = headOf(scene);
  const [x0, x1] = [xOf(scene, scene.scope.start), xOf(scene, scene.scope.end)];
  context.fillStyle = scene.palette.shade;
  context.fillRect(0, head, Math.max(0, x0), scene.height);
  context.fillRect(x1, head, Math.max(0, scene.width - x1), scene.height);
}

export function drawArea(context: Context, scene: Scene): void {
  const { area, palette } = scene;
  if (area === null) return;
  const [x0, x1] = [xOf(scene, area.start), xOf(scene, area.end)];
  const wide = Math.max(1, x1 - x0);
  const head = headOf(scene);
  context.fillStyle = palette.range;
  if (area.tracks === null) context.fillRect(x0, head, wide, scene.height);
  else {
    for (const row of [...scene.layout.rows, ...scene.layout.pinned]) {
      if (isTrack(row) && area.tracks.includes(row.track.id)) context.fillRect(x0, row.y + offsetOf(scene, row), wide, row.height);
    }
  }
  context.fillStyle = palette.accent;
  context.fillRect(x0, head, 1, scene.height);
  context.fillRect(x1 - 1, head, 1, scene.height);
}

/** Lines at the marks, lettered; between two the difference. */
export function drawMarks(context: Context, scene: Scene): void {
  const { marks, palette, width } = scene;
  marks.forEach((time, i) => {
    const x = xOf(scene, time);
    if (x < -40 || x > width) return;
    context.fillStyle = palette.odd;
    context.fillRect(Math.round(x), 0, 1, scene.height);
    const name = markName(i);
    context.fillRect(Math.round(x), 0, 8 + name.length * 7, 14);
    context.fillStyle = palette.background;
    context.fillText(name, Math.round(x) + 4, 7.5);
  });
  const [first, second] = marks.slice(-2);
  if (first === undefined || second === undefined) return;
  const [x0, x1] = [Math.max(0, xOf(scene, Math.min(first, second))), Math.min(width, xOf(scene, Math.max(first, second)))];
  const text = formatDuration(Math.abs(second - first));
  if (x1 - x0 < text.length * 7 + 34) return;
  const y = headOf(scene) + 9;
  context.fillStyle = palette.odd;
  context.fillRect(x0, y, x1 - x0, 1);
  const half = (text.length * 6.4) / 2 + 5;
  context.fillStyle = palette.background;
  context.fillRect((x0 + x1) / 2 - half, y - 8, 2 * half, 16);
  context.fillStyle = palette.text;
  context.textAlign = "center";
  context.fillText(text, (x0 + x1) / 2, y);
  context.textAlign = "left";
}

/** A, B, … Z, A2, B2 and so on. */
export function markName(index: number): string {
  const letter = String.fromCharCode(65 + (index % 26));
  return index < 26 ? letter : `${letter}${Math.floor(index / 26) + 1}`;
}

export function drawHits(context: Context, scene: Scene, rows: readonly Row[]): void {
  if (scene.hits.length === 0 && scene.hit === null) return;
  const shown = new Map(rows.filter(isTrack).map((row) => [row.track.id, row]));
  context.strokeStyle = scene.palette.hit;
  context.lineWidth = 2;
  context.beginPath();
  for (const hit of scene.hits) {
    const row = shown.get(hit.track);
    if (row !== undefined) hitRect(context, scene, row, hit);
  }
  context.stroke();
  const row = scene.hit === null ? undefined : shown.get(scene.hit.track);
  if (scene.hit === null || row === undefined) return;
  context.strokeStyle = scene.palette.odd;
  context.lineWidth = 3;
  context.beginPath();
  hitRect(context, scene, row, scene.hit);
  context.stroke();
}

function hitRect(context: Context, scene: Scene, row: TrackRow, hit: Hit): void {
  const x0 = Math.max(-4, xOf(scene, hit.start_ps));
  const x1 = Math.min(scene.width + 4, xOf(scene, hit.start_ps + hit.duration_ps));
  if (x1 < -4 || x0 > scene.width + 4) return;
  context.rect(x0, sliceTop(row, hit.depth) + offsetOf(scene, row) - 0.5, Math.max(2, x1 - x0), row.slice - 1);
}

export function drawOutlines(context: Context, scene: Scene, rows: readonly Row[]): void {
  for (const row of rows) {
    if (!isTrack(row)) continue;
    for (const one of scene.chosen) if (one.track === row.track.id) outline(context, scene, row, one, true);
    if (scene.hovered?.track === row.track.id) outline(context, scene, row, scene.hovered, false);
    if (scene.selected?.track === row.track.id) outline(context, scene, row, scene.selected, true);
  }
}

function outline(context: Context, scene: Scene, row: TrackRow, picked: Picked, strong: boolean): void {
  const x0 = Math.max(-4, xOf(scene, picked.start));
  const x1 = Math.min(scene.width + 4, xOf(scene, picked.start + picked.duration));
  if (x1 < -4 || x0 > scene.width + 4) return;
  context.strokeStyle = strong ? scene.palette.accent : scene.palette.text;
  context.lineWidth = strong ? 2 : 1;
  context.strokeRect(x0, sliceTop(row, picked.depth) + offsetOf(scene, row) - 0.5, Math.max(2, x1 - x0), row.slice - 1);
}

function endAt(scene: Scene, end: FlowEnd): { readonly x: Px; readonly y: Px } | null {
  const row = scene.rowOf.get(end.track);
  if (row === undefined) return null;
  const inRow = isTrack(row) ? sliceTop(row, end.depth) + row.slice / 2 - 1 : row.y + row.height / 2;
  return { x: xOf(scene, end.time_ps), y: inRow + offsetOf(scene, row) };
}

/** Arrows from cause to effect. */
export function drawFlows(context: Context, scene: Scene): void {
  if (scene.flows.length === 0) return;
  context.save();
  context.beginPath();
  context.rect(0, headOf(scene), scene.width, scene.height);
  context.clip();
  context.strokeStyle = scene.palette.accent;
  context.fillStyle = scene.palette.accent;
  context.lineWidth = 1.5;
  for (const flow of scene.flows) {
    const [from, to] = [endAt(scene, flow.from), endAt(scene, flow.to)];
    if (from === null || to === null) continue;
    const bend = Math.min(120, Math.max(24, Math.abs(to.x - from.x) / 2));
    context.beginPath();
    context.moveTo(from.x, from.y);
    context.bezierCurveTo(from.x + bend, from.y, to.x - bend, to.y, to.x, to.y);
    context.stroke();
    context.beginPath();
    context.moveTo(to.x, to.y);
    context.lineTo(to.x - 8, to.y - 4);
    context.lineTo(to.x - 8, to.y + 4);
    context.fill();
    context.beginPath();
    context.arc(from.x, from.y, 3, 0, 7);
    context.fill();
  }
  context.restore();
}

/** Where the ruler's part of the area stands. */
export function areaOnRuler(context: Context, scene: Scene): void {
  if (scene.area === null) return;
  const [x0, x1] = [xOf(scene, scene.area.start), xOf(scene, scene.area.end)];
  context.fillStyle = scene.palette.accent;
  context.fillRect(x0, RULER_HEIGHT - 4, x1 - x0, 3);
}
