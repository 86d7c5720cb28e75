/** Follows the folder that is served: sessions come, and those that are being written are complete some time. */

import { signal } from "@preact/signals";

import { getRunsUnless } from "../api/client";
import type { RunInfo } from "../api/types";
import { followed } from "./followed";
import { forget } from "./resource";
import { runs } from "./runs";

/** The server looks at its folder as often. */
const PAUSE_MS = 2000;

/** The newest complete run that came while the page was open; null where there is none, or somebody has seen it. */
export const arrived = signal<RunInfo | null>(null);

/** Runs whose files were replaced while the page was open. */
export const replaced = signal<ReadonlySet<string>>(new Set());

/** Asks whether there is a newer listing, and shows it. */
export async function look(): Promise<void> {
  const before = runs.value;
  if (before?.listing === undefined) return;
  // A server that does not answer is named where something is asked of it.
  const fresh = await getRunsUnless(before.listing).catch(() => null);
  if (fresh === null || runs.value !== before) return;
  const next = followed(before, fresh);
  if (next.changed) forget();
  if (next.replaced.length > 0) replaced.value = new Set([...replaced.value, ...next.replaced]);
  if (next.arrived !== null) arrived.value = next.arrived;
  runs.value = next.runs;
}

/** Looks again and again while the page is seen; gives back what ends that. */
export function follow(): () => void {
  let timer = 0;
  let ended = false;
  const again = async (): Promise<void> => {
    clearTimeout(timer);
    if (!document.hidden) await look();
    if (!ended) timer = window.setTimeout(() => void again(), PAUSE_MS);
  };
  const seen = (): void => {
    if (!document.hidden) void again();
  };
  document.addEventListener("visibilitychange", seen);
  timer = window.setTimeout(() => void again(), PAUSE_MS);
  return () => {
    ended = true;
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", seen);
  };
}
