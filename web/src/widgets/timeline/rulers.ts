/** The time ruler, and the steps under it. */

import { areaOnRuler } from "./overlays";
import { rulerTicks } from "./ruler";
import type { Scene } from "./scene";
import { RULER_HEIGHT, STEPS_HEIGHT, headOf, xOf } from "./scene";

export function drawRulers(context: CanvasRenderingContext2D, scene: Scene): void {
  const { palette, width } = scene;
  const head = headOf(scene);
  context.fillStyle = palette.background;
  context.fillRect(0, 0, width, head);
  areaOnRuler(context, scene);
  for (const tick of rulerTicks(scene.view, width)) {
    context.fillStyle = palette.line;
    context.fillRect(Math.round(tick.px), RULER_HEIGHT - 8, 1, 8);
    context.fillStyle = palette.muted;
    const room = width - tick.px - 4;
    if (tick.text.length * 6.5 < room) context.fillText(tick.text, Math.round(tick.px) + 4, RULER_HEIGHT / 2);
  }
  context.fillStyle = palette.line;
  context.fillRect(0, RULER_HEIGHT - 1, width, 1);
  if (scene.steps.length > 0) drawSteps(context, scene);
  context.fillStyle = palette.line;
  context.fillRect(0, head - 1, width, 1);
}

/** Narrower steps have no edges. */
const FINE = 3;

/** Each step as a box with its number; those that are not steady are drawn apart. */
function drawSteps(context: CanvasRenderingContext2D, scene: Scene): void {
  const { palette, width } = scene;
  let free = Number.NEGATIVE_INFINITY;
  for (const step of scene.steps) {
    const x0 = Math.max(-2, xOf(scene, step.start_ps));
    const x1 = Math.min(width + 2, xOf(scene, step.end_ps));
    if (x1 < 0 || x0 > width) continue;
    const odd = step.class !== "steady";
    const fine = x1 - x0 < FINE;
    // Where steps are finer than the eye they are one band, in which only the odd ones stand out.
    if (fine && !odd && x1 < free) continue;
    free = Math.max(free, x0 + FINE);
    context.fillStyle = odd ? palette.bubble : palette.band;
    if (fine) {
      context.fillRect(x0, RULER_HEIGHT + 1, odd ? Math.max(1, x1 - x0) : FINE, STEPS_HEIGHT - 3);
      continue;
    }
    context.fillRect(x0, RULER_HEIGHT + 1, Math.max(1, x1 - x0 - 1), STEPS_HEIGHT - 3);
    context.fillStyle = palette.muted;
    context.fillRect(x0, RULER_HEIGHT, 1, STEPS_HEIGHT - 1);
    const short = String(step.number);
    const long = odd ? `step ${short} · ${step.class}` : `step ${short}`;
    const text = (x1 - x0) / 6.2 > long.length + 1 ? long : (x1 - x0) / 6.6 > short.length + 1 ? short : "";
    context.fillStyle = palette.text;
    if (text !== "") context.fillText(text, x0 + 4, RULER_HEIGHT + STEPS_HEIGHT / 2);
  }
}
