/** Hands to moves: wheel, drag, pinch and keys on the canvas. Returns what undoes the binding. */

import type { Px } from "../../base/units";
import type { TimelineModel } from "./model";
import { panBy, pxToTime, zoomAt } from "./viewport";

export interface Spot {
  readonly x: Px;
  readonly y: Px;
}

export interface InputTarget {
  readonly canvas: HTMLCanvasElement;
  readonly scroller: HTMLElement;
  readonly model: TimelineModel;
  /** A click, as opposed to a drag; `adds` with Ctrl or the command key. */
  readonly onClick: (at: Spot, adds: boolean) => void;
  readonly onDoubleClick: (at: Spot) => void;
  readonly onHover: (at: Spot) => void;
  readonly onLeave: () => void;
  /** A drag with Shift, or on the rulers, spans an area. */
  readonly onArea: (from: Spot, to: Spot) => void;
  readonly onRuler: (y: Px) => boolean;
}

const CLICK_SLOP: Px = 4;
const ZOOM_PER_PX = 0.0022;
const ZOOM_PER_DRAG = 0.01;

export function bindPointer(target: InputTarget): () => void {
  const { canvas, scroller, model } = target;
  const controller = new AbortController();
  const { signal } = controller;
  const pointers = new Map<number, Spot>();
  let moved = 0;
  let areaFrom: Spot | null = null;
  let zoomFrom: Px | null = null;
  let pinch = 0;

  const local = (event: MouseEvent): Spot => {
    const rect = canvas.getBoundingClientRect();
    return { x: event.clientX - rect.left, y: event.clientY - rect.top };
  };
  const timeAt = (x: Px): number => pxToTime(model.view.value, canvas.clientWidth, x);
  const zoom = (factor: number, x: Px): void => model.look(zoomAt(model.limits.value, model.view.value, factor, timeAt(x)), "glide");
  const pan = (dx: Px): void => model.look(panBy(model.limits.value, model.view.value, dx / Math.max(1, canvas.clientWidth)), "glide");

  canvas.addEventListener(
    "wheel",
    (event) => {
      const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
      if (event.shiftKey) scroller.scrollTop += (event.deltaY || event.deltaX) * unit;
      else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) pan(event.deltaX * unit);
      // A pinch on a touchpad arrives as a wheel with the control key and small deltas.
      else zoom(Math.exp(event.deltaY * unit * ZOOM_PER_PX * (event.ctrlKey ? 4 : 1)), local(event).x);
      event.preventDefault();
    },
    { passive: false, signal },
  );

  canvas.addEventListener(
    "pointerdown",
    (event) => {
      if (event.button !== 0) return;
      canvas.setPointerCapture(event.pointerId);
      const at = local(event);
      pointers.set(event.pointerId, at);
      moved = pointers.size > 1 ? CLICK_SLOP : 0;
      pinch = 0;
      const byMouse = event.pointerType === "mouse";
      const tool = byMouse ? model.tool.value : "pan";
      const spans = event.shiftKey || tool === "select" || tool === "measure" || (byMouse && target.onRuler(at.y));
      areaFrom = spans ? at : null;
      zoomFrom = !spans && tool === "zoom" ? at.x : null;
    },
    { signal },
  );

  canvas.addEventListener(
    "pointermove",
    (event) => {
      const now = local(event);
      model.pointerPx = now.x;
      model.keyed.value = false;
      const before = pointers.get(event.pointerId);
      if (before === undefined) {
        target.onHover(now);
        return;
      }
      pointers.set(event.pointerId, now);
      moved += Math.abs(now.x - before.x) + Math.abs(now.y - before.y);
      if (moved < CLICK_SLOP) return;
      target.onLeave();
      const [first, second] = [...pointers.values()];
      if (first !== undefined && second !== undefined) {
        const apart = Math.abs(first.x - second.x) || 1;
        if (pinch > 0) zoom(pinch / apart, (first.x + second.x) / 2);
        pinch = apart;
      } else if (areaFrom !== null) target.onArea(areaFrom, now);
      else if (zoomFrom !== null) zoom(Math.exp((now.y - before.y) * ZOOM_PER_DRAG), zoomFrom);
      else {
        pan(before.x - now.x);
        if (event.pointerType === "mouse") scroller.scrollTop += before.y - now.y;
      }
    },
    { signal },
  );

  const release = (event: PointerEvent): void => {
    const at = pointers.get(event.pointerId);
    pointers.delete(event.pointerId);
    if (at !== undefined && event.type === "pointerup" && moved < CLICK_SLOP) target.onClick(at, event.ctrlKey || event.metaKey);
  };
  canvas.addEventListener("pointerup", release, { signal });
  canvas.addEventListener("pointercancel", release, { signal });
  canvas.addEventListener("dblclick", (event) => target.onDoubleClick(local(event)), { signal });
  canvas.addEventListener(
    "pointerleave",
    () => {
      model.pointerPx = null;
      target.onLeave();
    },
    { signal },
  );
  return () => controller.abort();
}

const HELD = new Set(["w", "a", "s", "d", "ArrowLeft", "ArrowRight"]);

/** Keys that move as long as they are held. Letters work anywhere on the page, arrows on the canvas. */
export function bindHeldKeys({ canvas, model }: Pick<InputTarget, "canvas" | "model">): () => void {
  const controller = new AbortController();
  const { signal } = controller;
  const held = new Set<string>();
  let frame = 0;
  let last = 0;

  const step = (now: number): void => {
    const seconds = Math.min(0.05, (now - last) / 1000);
    last = now;
    const limits = model.limits.value;
    let view = model.view.value;
    // What is under the pointer stays there; without a pointer the middle does.
    const anchor = model.pointer ?? (view.start + view.end) / 2;
    if (held.has("w")) view = zoomAt(limits, view, Math.exp(-3 * seconds), anchor);
    if (held.has("s")) view = zoomAt(limits, view, Math.exp(3 * seconds), anchor);
    if (held.has("a") || held.has("ArrowLeft")) view = panBy(limits, view, -1.2 * seconds);
    if (held.has("d") || held.has("ArrowRight")) view = panBy(limits, view, 1.2 * seconds);
    model.look(view, "glide");
    frame = held.size > 0 ? requestAnimationFrame(step) : 0;
  };

  addEventListener(
    "keydown",
    (event) => {
      const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
      if (!HELD.has(key) || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || isTyping(event.target)) return;
      if (document.querySelector("dialog[open]") !== null) return;
      if (key.startsWith("Arrow") && document.activeElement !== canvas) return;
      event.preventDefault();
      held.add(key);
      if (frame !== 0) return;
      last = performance.now() - 16;
      frame = requestAnimationFrame(step);
    },
    { signal },
  );
  addEventListener("keyup", (event) => held.delete(event.key.length === 1 ? event.key.toLowerCase() : event.key), { signal });
  addEventListener("blur", () => held.clear(), { signal });
  return () => {
    controller.abort();
    cancelAnimationFrame(frame);
  };
}

/** Kinds of fields that take no letters. */
const NO_TEXT = ["checkbox", "radio", "range", "button", "submit", "reset", "color", "file"];

/** Whether keys go into a field. */
export function isTyping(target: EventTarget | null): boolean {
  if (target instanceof HTMLInputElement) return !NO_TEXT.includes(target.type);
  return target instanceof HTMLElement && (target.isContentEditable || ["SELECT", "TEXTAREA"].includes(target.tagName));
}
