/** The part of the schedule that both charts show, and the hands that move it. */

import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";

import { lengthOf, moved, zoomed } from "../../base/interval";
import type { Interval } from "../../base/scale";

/** Closer than this there is nothing more to see. */
export const SHORTEST = 8;

export interface Axis {
  readonly whole: Interval;
  readonly part: Interval;
  readonly look: (part: Interval) => void;
}

export interface Plot {
  /** Pixels of the element between which the axis lies. */
  readonly left: number;
  readonly right: number;
}

/** Wheel zooms at the pointer, a drag moves. Returns a ref for the element. */
export function useAxisHands<E extends HTMLElement | SVGElement>(
  axis: Axis,
  plot: Plot,
  onClick: (event: PointerEvent) => void,
): RefObject<E | null> {
  const ref = useRef<E | null>(null);
  const now = useRef({ axis, plot, onClick });
  now.current = { axis, plot, onClick };
  useEffect(() => {
    const element: Element | null = ref.current;
    if (element === null) return undefined;
    const controller = new AbortController();
    const { signal } = controller;
    let from: number | null = null;
    let travelled = 0;
    const perPixel = (): number => lengthOf(now.current.axis.part) / Math.max(1, now.current.plot.right - now.current.plot.left);
    const onWheel = (event: WheelEvent): void => {
      const { axis: own, plot: room } = now.current;
      const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
      const sideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
      if (sideways) own.look(moved(own.whole, own.part, (event.deltaX || event.deltaY) * unit * perPixel()));
      else {
        const x = event.clientX - element.getBoundingClientRect().left - room.left;
        own.look(zoomed(own.whole, own.part, Math.exp(event.deltaY * unit * 0.0022), own.part[0] + x * perPixel(), SHORTEST));
      }
      event.preventDefault();
    };
    const onDown = (event: PointerEvent): void => {
      if (event.button !== 0) return;
      element.setPointerCapture(event.pointerId);
      from = event.clientX;
      travelled = 0;
    };
    const onMove = (event: PointerEvent): void => {
      if (from === null) return;
      const by = from - event.clientX;
      travelled += Math.abs(by);
      from = event.clientX;
      if (travelled > 3) now.current.axis.look(moved(now.current.axis.whole, now.current.axis.part, by * perPixel()));
    };
    const onUp = (event: PointerEvent): void => {
      if (from !== null && travelled <= 3) now.current.onClick(event);
      from = null;
    };
    element.addEventListener("wheel", onWheel as EventListener, { passive: false, signal });
    element.addEventListener("pointerdown", onDown as EventListener, { signal });
    element.addEventListener("pointermove", onMove as EventListener, { signal });
    element.addEventListener("pointerup", onUp as EventListener, { signal });
    element.addEventListener("pointercancel", () => (from = null), { signal });
    return () => controller.abort();
  }, []);
  return ref;
}

/** The part after a key; null where the key moves nothing. */
export function keyed(axis: Axis, key: string, anchor: number): Interval | null {
  const step = lengthOf(axis.part) * 0.2;
  switch (key) {
    case "+":
    case "=":
      return zoomed(axis.whole, axis.part, 0.6, anchor, SHORTEST);
    case "-":
      return zoomed(axis.whole, axis.part, 1 / 0.6, anchor, SHORTEST);
    case "f":
      return axis.whole;
    case "a":
      return moved(axis.whole, axis.part, -step);
    case "d":
      return moved(axis.whole, axis.part, step);
    default:
      return null;
  }
}
