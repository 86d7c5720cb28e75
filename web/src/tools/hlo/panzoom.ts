/** Hands to moves of a drawing: wheel, drag and pinch. Returns what undoes the binding. */

import type { Pose } from "./placed";
import { zoomPose } from "./placed";

export interface PanZoom {
  readonly pose: () => Pose;
  readonly look: (next: Pose) => void;
  /** A click on what carries `data-id`; `badge` where it was on its `data-badge`. */
  readonly pick: (id: string, twice: boolean, badge: boolean) => void;
}

const CLICK_SLOP = 4;
const TWICE_MS = 350;

export function bindPanZoom(element: HTMLElement, { pose, look, pick }: PanZoom): () => void {
  const controller = new AbortController();
  const { signal } = controller;
  const pointers = new Map<number, { x: number; y: number }>();
  let moved = 0;
  let pinch = 0;
  let downOn: Element | null = null;
  let last = { id: "", time: 0 };

  const local = (event: MouseEvent): { x: number; y: number } => {
    const rect = element.getBoundingClientRect();
    return { x: event.clientX - rect.left, y: event.clientY - rect.top };
  };
  element.addEventListener(
    "wheel",
    (event) => {
      const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
      const { x, y } = local(event);
      if (event.shiftKey) look({ ...pose(), x: pose().x - (event.deltaX || event.deltaY) * unit });
      else look(zoomPose(pose(), Math.exp(-event.deltaY * unit * 0.0022 * (event.ctrlKey ? 4 : 1)), x, y));
      event.preventDefault();
    },
    { passive: false, signal },
  );
  element.addEventListener(
    "pointerdown",
    (event) => {
      if (event.button !== 0) return;
      downOn = event.target instanceof Element ? event.target : null;
      element.setPointerCapture(event.pointerId);
      pointers.set(event.pointerId, local(event));
      moved = pointers.size > 1 ? CLICK_SLOP : 0;
      pinch = 0;
    },
    { signal },
  );
  element.addEventListener(
    "pointermove",
    (event) => {
      const before = pointers.get(event.pointerId);
      if (before === undefined) return;
      const now = local(event);
      pointers.set(event.pointerId, now);
      moved += Math.abs(now.x - before.x) + Math.abs(now.y - before.y);
      if (moved < CLICK_SLOP) return;
      const [first, second] = [...pointers.values()];
      if (first !== undefined && second !== undefined) {
        const apart = Math.hypot(first.x - second.x, first.y - second.y) || 1;
        if (pinch > 0) look(zoomPose(pose(), apart / pinch, (first.x + second.x) / 2, (first.y + second.y) / 2));
        pinch = apart;
      } else look({ ...pose(), x: pose().x + now.x - before.x, y: pose().y + now.y - before.y });
    },
    { signal },
  );
  const release = (event: PointerEvent): void => {
    const held = pointers.delete(event.pointerId);
    if (!held || event.type !== "pointerup" || moved >= CLICK_SLOP) return;
    const id = downOn?.closest("[data-id]")?.getAttribute("data-id") ?? "";
    if (id === "") return;
    const now = performance.now();
    const twice = last.id === id && now - last.time < TWICE_MS;
    last = { id, time: now };
    pick(id, twice, downOn?.closest("[data-badge]") !== null);
  };
  element.addEventListener("pointerup", release, { signal });
  element.addEventListener("pointercancel", release, { signal });
  return () => controller.abort();
}
