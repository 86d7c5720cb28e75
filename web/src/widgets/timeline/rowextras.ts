/** What is drawn into rows besides slices: counters, overlap of transfers with compute, bubbles. */

import type { Counter, DeviceOverlap } from "../../api/timeline";
import { formatDuration, formatValue } from "../../base/format";
import type { Px } from "../../base/units";
import type { Row, TrackRow } from "./layout";
import type { Scene } from "./scene";
import { isTrack, offsetOf, xOf } from "./scene";

/** Each counter of a track as an area over zero (or its least value, where that is below). */
export function drawCounters(context: CanvasRenderingContext2D, scene: Scene, row: TrackRow, offset: Px): void {
  const counters = scene.counters.get(row.track.id) ?? [];
  const top = row.y + offset + 3;
  const bottom = row.y + row.height + offset - 4;
  counters.forEach((counter, i) => {
    const colour = scene.palette.series[i % scene.palette.series.length] ?? scene.palette.accent;
    drawCounter(context, scene, counter, top, bottom, colour);
  });
  context.textAlign = "right";
  counters.slice(0, 3).forEach((counter, i) => {
    if (row.flat) return;
    context.fillStyle = scene.palette.muted;
    const most = counter.max === null ? "" : `, most ${formatValue(counter.max, counter.unit)}`;
    context.fillText(`${counter.name}${most}`, scene.width - 6, top + 6 + i * 11);
  });
  context.textAlign = "left";
}

function drawCounter(context: CanvasRenderingContext2D, scene: Scene, counter: Counter, top: Px, bottom: Px, colour: string): void {
  const low = Math.min(0, counter.min ?? 0);
  const high = Math.max(counter.max ?? 0, low + Number.MIN_VALUE);
  const yOf = (value: number): Px => bottom - ((value - low) / (high - low)) * (bottom - top);
  const base = yOf(Math.max(low, 0));
  context.fillStyle = colour;
  context.globalAlpha = 0.35;
  context.beginPath();
  let last: number | null = null;
  let open = false;
  const close = (x: Px): void => {
    if (open) context.lineTo(x, base);
    open = false;
  };
  for (const [time, , most, value] of counter.points) {
    const x = Math.min(scene.width + 10, Math.max(-10, xOf(scene, time)));
    if (value === null) {
      if (last !== null) context.lineTo(x, yOf(last));
      close(x);
      last = null;
      continue;
    }
    if (!open) {
      context.moveTo(x, base);
      open = true;
    } else if (last !== null) context.lineTo(x, yOf(last));
    // The most of the pixel, so that no peak is lost; then the value that stays.
    if (most !== null) context.lineTo(x, yOf(most));
    context.lineTo(x, yOf(value));
    last = value;
  }
  if (last !== null) {
    context.lineTo(scene.width + 10, yOf(last));
    close(scene.width + 10);
  }
  context.fill();
  context.globalAlpha = 1;
}

/** Over a device's ops: where transfers ran, hidden or exposed, and where nothing ran inside a step. */
export function drawOverlap(context: CanvasRenderingContext2D, scene: Scene, rows: readonly Row[]): void {
  for (const row of rows) {
    if (!isTrack(row)) continue;
    const device = scene.overlap.find((one) => one.group === row.group.id);
    if (device === undefined) continue;
    const offset = offsetOf(scene, row);
    const main = row.track.kind === "ops" || row.track.kind === "stream";
    if (scene.showOverlap && (main || row.track.kind === "async")) drawSpans(context, scene, device, row, offset, main);
    if (scene.showBubbles && main) drawBubbles(context, scene, device, row, offset);
  }
}

function drawSpans(context: CanvasRenderingContext2D, scene: Scene, device: DeviceOverlap, row: TrackRow, offset: Px, main: boolean): void {
  const { palette, width } = scene;
  const top = row.y + offset;
  for (const [start, duration, hidden] of device.spans) {
    const x0 = xOf(scene, start);
    const x1 = xOf(scene, start + duration);
    if (x1 < 0 || x0 > width) continue;
    const wide = Math.max(1, Math.min(width, x1) - Math.max(0, x0));
    context.fillStyle = hidden === 1 ? palette.hidden : palette.exposed;
    if (main) context.fillRect(Math.max(0, x0), top, wide, 4);
    context.globalAlpha = 0.16;
    context.fillRect(Math.max(0, x0), top, wide, row.height - 1);
    context.globalAlpha = 1;
  }
}

function drawBubbles(context: CanvasRenderingContext2D, scene: Scene, device: DeviceOverlap, row: TrackRow, offset: Px): void {
  const { palette, width } = scene;
  const top = row.y + offset + 4;
  for (const [start, duration] of device.gaps) {
    const x0 = Math.max(0, xOf(scene, start));
    const x1 = Math.min(width, xOf(scene, start + duration));
    if (x1 <= 0 || x0 >= width) continue;
    const wide = Math.max(1, x1 - x0);
    context.fillStyle = palette.bubble;
    context.fillRect(x0, top, wide, row.height - 8);
    const text = formatDuration(duration, 3);
    if (wide < 10 + text.length * 7 || row.flat) continue;
    context.fillStyle = palette.text;
    context.textAlign = "center";
    context.fillText(text, x0 + wide / 2, top + (row.height - 8) / 2);
    context.textAlign = "left";
  }
}
