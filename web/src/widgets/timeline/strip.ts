/** The strip over the timeline: the whole run, and where in it the view is. Pure. */

import type { Picos, Px } from "../../base/units";
import type { Viewport } from "./viewport";
import { span, within } from "./viewport";

/** What a press on the strip takes hold of. */
export type Hold = "start" | "end" | "window" | "nothing";

/** So near to an edge of the window, the edge is meant. */
const EDGE: Px = 6;
/** A window is drawn no narrower. */
export const NARROWEST: Px = 3;

/** Where the window stands on a strip of a width: never too narrow to be seen. */
export function windowOn(bounds: Viewport, view: Viewport, width: Px): { readonly left: Px; readonly right: Px } {
  const scale = width / Math.max(1, span(bounds));
  const left = (Math.max(bounds.start, view.start) - bounds.start) * scale;
  const right = (Math.min(bounds.end, view.end) - bounds.start) * scale;
  if (right - left >= NARROWEST) return { left, right };
  const middle = Math.min(width - NARROWEST / 2, Math.max(NARROWEST / 2, (left + right) / 2));
  return { left: middle - NARROWEST / 2, right: middle + NARROWEST / 2 };
}

/** What is at a place of the strip. A window that is all of it has nothing beside it to take: a press there draws a new one. */
export function holdAt(bounds: Viewport, view: Viewport, width: Px, x: Px): Hold {
  if (span(view) >= span(bounds)) return "nothing";
  const { left, right } = windowOn(bounds, view, width);
  // Of a narrow window the middle stays free to take hold of.
  const edge = Math.min(EDGE, Math.max(1, (right - left) / 4));
  if (Math.abs(x - left) <= edge || (x < left && left - x <= EDGE)) return "start";
  if (Math.abs(x - right) <= edge || (x > right && x - right <= EDGE)) return "end";
  return x > left && x < right ? "window" : "nothing";
}

/** The view after a drag from one place of the strip to another; `view` is that at its beginning. */
export function dragged(bounds: Viewport, view: Viewport, hold: Hold, from: Picos, to: Picos): Viewport {
  const by = to - from;
  const ordered = (a: Picos, b: Picos): Viewport => within(bounds, { start: Math.min(a, b), end: Math.max(a, b) });
  if (hold === "window") return within(bounds, { start: view.start + by, end: view.end + by });
  if (hold === "start") return ordered(view.start + by, view.end);
  if (hold === "end") return ordered(view.start, view.end + by);
  return ordered(from, to);
}

/** The view around a time, as wide as it is. */
export function centredOn(bounds: Viewport, view: Viewport, time: Picos): Viewport {
  const half = span(view) / 2;
  return within(bounds, { start: time - half, end: time + half });
}

/** The mean of the shares over a stretch of the run, by parts; null where there are none. */
export function meanShare(busy: readonly number[], bounds: Viewport, view: Viewport): number | null {
  if (busy.length === 0) return null;
  const part = span(bounds) / busy.length;
  let [time, sum] = [0, 0];
  busy.forEach((share, i) => {
    const start = bounds.start + i * part;
    const inside = Math.min(view.end, start + part) - Math.max(view.start, start);
    if (inside <= 0) return;
    time += inside;
    sum += inside * share;
  });
  return time > 0 ? sum / time : null;
}
