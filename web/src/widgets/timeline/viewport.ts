/** The part of time that is on the screen. Pure: every move gives a new viewport inside the bounds. */

import type { Picos, Px } from "../../base/units";

export interface Viewport {
  readonly start: Picos;
  readonly end: Picos;
}

/** Closer than this the integers of the profile have nothing more to show. */
export const SHORTEST_PS = 200;

export function span(view: Viewport): Picos {
  return view.end - view.start;
}

/** Keeps the span where it can and moves the view back inside. */
export function within(bounds: Viewport, view: Viewport): Viewport {
  const width = Math.min(Math.max(span(view), Math.min(SHORTEST_PS, span(bounds))), span(bounds));
  const start = Math.min(Math.max(view.start, bounds.start), bounds.end - width);
  return { start, end: start + width };
}

/** Scales the span by `factor` (below one zooms in) and keeps `anchor` where it is on the screen. */
export function zoomAt(bounds: Viewport, view: Viewport, factor: number, anchor: Picos): Viewport {
  const width = Math.min(Math.max(span(view) * factor, SHORTEST_PS), span(bounds));
  const share = span(view) > 0 ? (anchor - view.start) / span(view) : 0.5;
  const start = anchor - share * width;
  return within(bounds, { start, end: start + width });
}

/** Moves by a share of the span; positive is later. */
export function panBy(bounds: Viewport, view: Viewport, share: number): Viewport {
  const shift = span(view) * share;
  return within(bounds, { start: view.start + shift, end: view.end + shift });
}

/** A view of an interval with some air at both sides. */
export function viewOf(bounds: Viewport, start: Picos, end: Picos): Viewport {
  const air = Math.max((end - start) * 0.15, SHORTEST_PS / 2);
  return within(bounds, { start: start - air, end: end + air });
}

export function timeToPx(view: Viewport, width: Px, time: Picos): Px {
  return ((time - view.start) / span(view)) * width;
}

export function pxToTime(view: Viewport, width: Px, px: Px): Picos {
  return view.start + (px / Math.max(1, width)) * span(view);
}

export interface Loaded extends Viewport {
  /** Picoseconds a pixel that the answer was made for. */
  readonly psPerPx: number;
}

/** Whether what was loaded still serves the view: it covers it and is neither too coarse nor far too fine. */
export function serves(loaded: Loaded, view: Viewport, width: Px): boolean {
  const psPerPx = span(view) / Math.max(1, width);
  return loaded.start <= view.start && loaded.end >= view.end && loaded.psPerPx <= psPerPx * 1.3 && loaded.psPerPx * 8 >= psPerPx;
}

/** What to ask for: the view and as much again around it, so that small moves need no new answer. */
export function toLoad(bounds: Viewport, view: Viewport, width: Px): Loaded {
  const around = span(view) * 0.5;
  const start = Math.max(bounds.start, view.start - around);
  const end = Math.min(bounds.end, view.end + around);
  return { start, end, psPerPx: span(view) / Math.max(1, width) };
}
