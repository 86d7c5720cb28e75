/** Questions about the slices of one track. Pure. */

import type { Slice } from "../../api/types";
import type { Picos } from "../../base/units";

/** The slice at a time and depth. `slack` lets the pointer miss a thin slice by a pixel or two. */
export function sliceAt(slices: readonly Slice[], time: Picos, depth: number, slack: Picos): Slice | null {
  let near: Slice | null = null;
  let distance = slack;
  for (const slice of slices) {
    if (slice[2] !== depth) continue;
    const [start, duration] = slice;
    if (time >= start && time <= start + duration) return slice;
    const off = time < start ? start - time : time - start - duration;
    if (off < distance) {
      near = slice;
      distance = off;
    }
  }
  return near;
}

/** The slice before or after a time at a depth, for moving by the keyboard. */
export function neighbour(slices: readonly Slice[], time: Picos, depth: number, direction: 1 | -1): Slice | null {
  let best: Slice | null = null;
  for (const slice of slices) {
    if (slice[2] !== depth) continue;
    const ahead = direction === 1 ? slice[0] > time : slice[0] < time;
    if (!ahead) continue;
    if (best === null || (direction === 1 ? slice[0] < best[0] : slice[0] > best[0])) best = slice;
  }
  return best;
}

/** Shortens a name in its middle: hosts of one job differ at the end. */
export function keepEnds(text: string, length: number): string {
  if (text.length <= length || length < 6) return text;
  const head = Math.floor((length - 1) / 3);
  return `${text.slice(0, head)}…${text.slice(text.length - (length - 1 - head))}`;
}

/** What fits into a width, given the width of one character; empty when not even three letters do. */
export function fitText(text: string, width: number, charWidth: number): string {
  const room = Math.floor(width / charWidth);
  if (text.length <= room) return text;
  return room < 4 ? "" : `${text.slice(0, room - 1)}…`;
}
