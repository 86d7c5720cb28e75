/** The whole run in one strip over the canvas: how busy its devices were, its steps, hits and marks, and the window that is
 * in view. A drag moves the window or draws a new one; W, A, S and D do the same by keys. */

import { useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

import type { Utilisation } from "../../api/timeline";
import { formatDuration, formatShare } from "../../base/format";
import { shownTheme } from "../../state/theme";
import { useSize } from "../useSize";
import type { TimelineModel } from "./model";
import type { Palette } from "./palette";
import { readPalette } from "./palette";
import type { Hold } from "./strip";
import { centredOn, dragged, holdAt, meanShare, windowOn } from "./strip";
import type { Viewport } from "./viewport";
import { pxToTime, span, timeToPx } from "./viewport";

const HEIGHT = 40;
/** The steps stand below the curve of utilisation. */
const STEPS = 8;
const SLOP = 3;

export interface StripProps {
  readonly model: TimelineModel;
  /** Null until it is known, and where nobody can say. */
  readonly utilisation: Utilisation | null;
}

export function Strip({ model, utilisation }: StripProps) {
  const [box, { width }] = useSize<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const palette = useRef<Palette | null>(null);
  const frame = useRef(0);
  const busy = utilisation?.busy ?? [];
  const draw = useRef(() => {});
  draw.current = () => {
    const context = canvas.current?.getContext("2d") ?? null;
    if (canvas.current === null || context === null || width === 0) return;
    palette.current ??= readPalette(canvas.current);
    const ratio = devicePixelRatio;
    if (canvas.current.width !== Math.round(width * ratio)) {
      canvas.current.width = Math.round(width * ratio);
      canvas.current.height = Math.round(HEIGHT * ratio);
    }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    paint(context, palette.current, model, busy, width);
  };
  const redraw = (): void => {
    if (frame.current !== 0) return;
    frame.current = requestAnimationFrame(() => {
      frame.current = 0;
      draw.current();
    });
  };
  useSignalEffect(() => {
    void [model.view.value, model.steps.value, model.hits.value, model.marks.value, model.area.value];
    redraw();
  });
  useSignalEffect(() => {
    void shownTheme.value;
    palette.current = null;
    redraw();
  });
  useEffect(redraw, [width, busy]);
  useEffect(
    () => () => {
      cancelAnimationFrame(frame.current);
      frame.current = 0;
    },
    [],
  );
  const drag = useRef<{ hold: Hold; from: number; view: Viewport; moved: boolean } | null>(null);
  const timeAt = (event: PointerEvent): number => {
    const rect = (event.currentTarget as HTMLElement).getBoundingClientRect();
    return pxToTime(model.bounds, width, event.clientX - rect.left);
  };
  const onPointerMove = (event: PointerEvent): void => {
    const element = event.currentTarget as HTMLElement;
    const now = drag.current;
    const x = event.clientX - element.getBoundingClientRect().left;
    if (now === null) {
      const hold = holdAt(model.bounds, model.view.value, width, x);
      element.style.cursor = hold === "window" ? "grab" : hold === "nothing" ? "crosshair" : "ew-resize";
      return;
    }
    if (!now.moved && Math.abs(x - timeToPx(model.bounds, width, now.from)) < SLOP) return;
    now.moved = true;
    model.look(dragged(model.bounds, now.view, now.hold, now.from, timeAt(event)), "glide");
  };
  return (
    <div ref={box} class="tl-strip">
      <canvas
        ref={canvas}
        role="img"
        aria-label={said(model, utilisation)}
        style={{ width: `${width}px`, height: `${HEIGHT}px` }}
        onPointerDown={(event) => {
          if (event.button !== 0) return;
          event.currentTarget.setPointerCapture(event.pointerId);
          const from = timeAt(event);
          const x = timeToPx(model.bounds, width, from);
          drag.current = { hold: holdAt(model.bounds, model.view.value, width, x), from, view: model.view.value, moved: false };
        }}
        onPointerMove={onPointerMove}
        onPointerUp={() => {
          const now = drag.current;
          drag.current = null;
          if (now !== null && !now.moved && now.hold === "nothing") model.look(centredOn(model.bounds, model.view.value, now.from));
        }}
        onPointerCancel={() => (drag.current = null)}
        onDblClick={() => model.look(model.limits.value)}
      />
    </div>
  );
}

/** The strip in words; it does not follow each move. */
function said(model: TimelineModel, utilisation: Utilisation | null): string {
  const steps = model.steps.value.length;
  const mean = meanShare(utilisation?.busy ?? [], model.bounds, model.bounds);
  const of = utilisation?.devices === 1 ? "the device was" : `${utilisation?.devices ?? 0} devices were`;
  return [
    `The whole run, ${formatDuration(span(model.bounds))}`,
    utilisation === null ? "" : mean === null ? "utilisation unknown" : `${of} busy for ${formatShare(mean)} of it`,
    steps > 0 ? `${steps} steps` : "",
  ]
    .filter(Boolean)
    .join("; ");
}

function paint(context: CanvasRenderingContext2D, palette: Palette, model: TimelineModel, busy: readonly number[], width: number): void {
  const { bounds } = model;
  const tall = HEIGHT - STEPS - 3;
  const x = (time: number): number => timeToPx(bounds, width, time);
  context.fillStyle = palette.background;
  context.fillRect(0, 0, width, HEIGHT);
  context.fillStyle = palette.busy;
  const wide = width / Math.max(1, busy.length);
  busy.forEach((share, i) => {
    // What is not nothing is to be seen.
    if (share > 0) context.fillRect(i * wide, 1 + tall * (1 - share), Math.max(wide, 0.5), Math.max(1, tall * share));
  });
  let drawn = -1;
  for (const step of model.steps.value) {
    const odd = step.class !== "steady";
    const [from, to] = [x(step.start_ps), x(step.end_ps)];
    if (!odd && to < drawn + 1) continue;
    drawn = Math.max(drawn, to);
    context.fillStyle = odd ? palette.bubble : palette.muted;
    context.globalAlpha = odd ? 1 : 0.5;
    context.fillRect(from, HEIGHT - STEPS, Math.max(1, to - from - 1), STEPS - 2);
  }
  context.globalAlpha = 1;
  context.fillStyle = palette.hit;
  for (const hit of model.hits.value) context.fillRect(Math.round(x(hit.start_ps)), 1, 1, tall);
  context.fillStyle = palette.accent;
  for (const mark of model.marks.value) context.fillRect(Math.round(x(mark)), 0, 1, HEIGHT);
  const area = model.area.value;
  if (area !== null) {
    context.fillStyle = palette.range;
    context.fillRect(x(area.start), 0, Math.max(1, x(area.end) - x(area.start)), HEIGHT);
  }
  if (span(model.view.value) >= span(bounds)) return;
  const { left, right } = windowOn(bounds, model.view.value, width);
  context.fillStyle = palette.shade;
  context.fillRect(0, 0, left, HEIGHT);
  context.fillRect(right, 0, width - right, HEIGHT);
  context.strokeStyle = palette.accent;
  context.lineWidth = 1.5;
  context.strokeRect(left + 0.75, 0.75, Math.max(1, right - left - 1.5), HEIGHT - 1.5);
}
