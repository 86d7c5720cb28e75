/** The views that there were, so that a zoom can be taken back. Pure: the time is given. */

import type { Viewport } from "./viewport";
import { span } from "./viewport";

/** How the view came to change: at once, or moved along by a hand that goes on. */
export type Move = "jump" | "glide";

/** Moves of one hand with less rest than this between them are one. */
export const REST_MS = 600;
const KEPT = 100;
/** A zoom by less than this is none: spans are no integers. */
const SAME = 1e-6;

export class ViewHistory {
  private readonly before: Viewport[] = [];
  private readonly after: Viewport[] = [];
  private last = Number.NEGATIVE_INFINITY;
  private gliding = false;

  /** A view gave way to another. Moving sideways by hand is not kept: what is taken back is a zoom, or a jump. */
  note(from: Viewport, to: Viewport, how: Move, now: number): void {
    const zoomed = Math.abs(span(to) - span(from)) > SAME * span(from);
    const goesOn = how === "glide" && this.gliding && now - this.last < REST_MS;
    if (how === "glide") this.last = now;
    if (how === "glide" && !zoomed) return;
    this.gliding = how === "glide";
    if (goesOn) return;
    this.before.push(from);
    if (this.before.length > KEPT) this.before.shift();
    this.after.length = 0;
  }

  /** The view before the last zoom; null where there is none. */
  undo(now: Viewport): Viewport | null {
    return this.step(this.before, this.after, now);
  }

  redo(now: Viewport): Viewport | null {
    return this.step(this.after, this.before, now);
  }

  private step(from: Viewport[], to: Viewport[], now: Viewport): Viewport | null {
    const view = from.pop();
    if (view === undefined) return null;
    to.push(now);
    this.gliding = false;
    return view;
  }
}
