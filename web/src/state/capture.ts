/** The capture that this page follows, whether its dialog is open or not. */

import { signal } from "@preact/signals";

import { ApiError, endCapture, getCapture, getCaptures, startCapture } from "../api/client";
import type { Capture, CaptureAsked } from "../api/types";
import { isOver } from "./captured";

const BETWEEN_MS = 300;
/** A server that was not reached once may be busy; one that is gone stays gone. */
const MISSES = 10;

/** The last one that was begun here, or that was under way when the dialog opened; null where there is none. */
export const capture = signal<Capture | null>(null);
/** Why it could not be begun, or followed. */
export const captureRefused = signal<unknown>(null);
export const captureIsOpen = signal(false);

let followed = 0;

async function follow(id: string): Promise<void> {
  const own = ++followed;
  for (let misses = 0; own === followed && misses < MISSES; ) {
    await new Promise((done) => setTimeout(done, BETWEEN_MS));
    if (own !== followed) return;
    try {
      const now = await getCapture(id);
      if (own !== followed) return;
      misses = 0;
      capture.value = now;
      if (!isOver(now)) continue;
      // Nobody waits for it here: the list of runs says that it has come.
      if (now.state !== "failed" && !captureIsOpen.value) capture.value = null;
      return;
    } catch (error) {
      const isPassing = error instanceof ApiError && error.kind === "offline";
      misses = isPassing ? misses + 1 : MISSES;
      if (misses >= MISSES && own === followed) {
        captureRefused.value = error;
        capture.value = null;
      }
    }
  }
}

export async function begin(asked: CaptureAsked): Promise<void> {
  captureRefused.value = null;
  capture.value = null;
  try {
    const begun = await startCapture(asked);
    capture.value = begun;
    void follow(begun.id);
  } catch (error) {
    captureRefused.value = error;
  }
}

/** Ends it; what comes of that is seen by whoever follows. */
export async function end(): Promise<void> {
  const one = capture.value;
  if (one === null || isOver(one)) return;
  try {
    const now = await endCapture(one.id);
    if (capture.value?.id === one.id && !isOver(capture.value)) capture.value = now;
  } catch (error) {
    captureRefused.value = error;
  }
}

/** What the server offers; takes up a capture that is under way, after the page was loaded anew for instance. */
export async function offered() {
  const all = await getCaptures();
  const running = all.captures.find((one) => !isOver(one));
  if (running !== undefined && (capture.value === null || isOver(capture.value))) {
    capture.value = running;
    void follow(running.id);
  }
  return all;
}

/** Nothing is shown of it any more. */
export function dismiss(): void {
  if (capture.value === null || isOver(capture.value)) {
    capture.value = null;
    captureRefused.value = null;
  }
}
