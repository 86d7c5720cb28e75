/** Two timelines that move as one: the second shows the same span, later by an offset. */

import { effect } from "@preact/signals";

import type { Picos } from "../../base/units";
import type { TimelineModel } from "./model";
import type { Viewport } from "./viewport";

/** Rounding alone must not send a view to and fro. */
const NEAR: Picos = 0.5;

/** The stretch, on the first one's clock, that holds both. */
export function bothBounds(first: Viewport, second: Viewport, offset: Picos): Viewport {
  return { start: Math.min(first.start, second.start - offset), end: Math.max(first.end, second.end - offset) };
}

export function shifted(view: Viewport, by: Picos): Viewport {
  return { start: view.start + by, end: view.end + by };
}

/** `offset`: a time of the second run less the time of the first that it stands under. Returns what lets them go. */
export function linkModels(first: TimelineModel, second: TimelineModel, offset: Picos): () => void {
  const limits = bothBounds(first.bounds, second.bounds, offset);
  first.limits.value = limits;
  second.limits.value = shifted(limits, offset);
  const follow = (from: TimelineModel, to: TimelineModel, by: Picos): (() => void) =>
    effect(() => {
      const wanted = shifted(from.view.value, by);
      const now = to.view.peek();
      if (Math.abs(wanted.start - now.start) > NEAR || Math.abs(wanted.end - now.end) > NEAR) to.turn(wanted);
    });
  const undo = [follow(first, second, offset), follow(second, first, -offset)];
  return () => {
    undo.forEach((stop) => stop());
    first.limits.value = first.bounds;
    first.turn(first.view.value);
  };
}
