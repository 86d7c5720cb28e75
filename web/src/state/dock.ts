/** Where the details of the timeline stand, and how large they are. Kept per browser: they are a habit and no part of what is shown. */

import { signal } from "@preact/signals";

export type Side = "below" | "beside";

export interface DockPlace {
  readonly side: Side;
  readonly open: boolean;
  /** Height below, CSS pixels. */
  readonly below: number;
  /** Width beside. */
  readonly beside: number;
}

const KEY = "haloscope.dock";
export const AT_FIRST: DockPlace = { side: "below", open: true, below: 330, beside: 400 };
export const SMALLEST = 120;

function size(value: unknown, otherwise: number): number {
  return typeof value === "number" && Number.isFinite(value) && value >= SMALLEST ? Math.round(value) : otherwise;
}

/** What was kept, as far as it makes sense. */
export function readPlace(text: string | null): DockPlace {
  let kept: unknown = null;
  try {
    kept = JSON.parse(text ?? "null");
  } catch {
    return AT_FIRST;
  }
  if (typeof kept !== "object" || kept === null) return AT_FIRST;
  const of = (key: string): unknown => Reflect.get(kept, key);
  return {
    side: of("side") === "beside" ? "beside" : "below",
    open: of("open") !== false,
    below: size(of("below"), AT_FIRST.below),
    beside: size(of("beside"), AT_FIRST.beside),
  };
}

function stored(): DockPlace {
  try {
    return readPlace(localStorage.getItem(KEY));
  } catch {
    // Storage may be forbidden; how it is at first is a fine answer.
    return AT_FIRST;
  }
}

export const dock = signal<DockPlace>(stored());

export function placeDock(change: Partial<DockPlace>): void {
  dock.value = { ...dock.value, ...change };
  try {
    localStorage.setItem(KEY, JSON.stringify(dock.value));
  } catch {
    // The choice then lasts as long as the page.
  }
}
