/** Which pages have nothing to say of the run: the menu shows them in grey. Found by asking, once a run and when the page is at rest. */

import { signal } from "@preact/signals";

import { getReportOrNothing } from "../api/client";
import type { Report, RunInfo } from "../api/types";

export const emptyPages = signal<ReadonlySet<string>>(new Set());

/** What not every run has: a kind of device, a server of models, several slices, flags that were written down. */
const ASKED: readonly string[] = ["kernel", "kernels", "utilization", "megascale", "inference", "audit-flags", "source"];
/** Of large runs nothing is asked that nobody wants to see. */
const MOST_BYTES = 64 * 2 ** 20;
const AFTER_MS = 1500;
const found = new Map<string, ReadonlySet<string>>();

/** A report without a number, a row, a finding or a text. */
export function saysNothing(report: Report): boolean {
  return (
    report.findings.length === 0 &&
    report.texts.length === 0 &&
    report.tables.every((table) => table.rows.length === 0) &&
    Object.values(report.values).every((value) => typeof value.value !== "number" || value.value === 0)
  );
}

async function isEmpty(run: string, analysis: string, signal: AbortSignal): Promise<boolean> {
  try {
    const report = await getReportOrNothing(analysis, run, signal);
    return report === null || saysNothing(report);
  } catch {
    return false;
  }
}

/** Begins to look; what it gives back ends that. */
export function findEmpty(run: RunInfo, pages: readonly string[]): () => void {
  emptyPages.value = found.get(run.id) ?? new Set();
  if (found.has(run.id) || run.writing === true || run.size_bytes > MOST_BYTES) return () => {};
  const abort = new AbortController();
  const timer = setTimeout(async () => {
    const empty = new Set<string>();
    // One after the other: whoever reads the page goes first.
    for (const analysis of ASKED.filter((one) => pages.includes(one))) {
      const nothing = await isEmpty(run.id, analysis, abort.signal);
      if (abort.signal.aborted) return;
      if (nothing) empty.add(analysis);
    }
    found.set(run.id, empty);
    emptyPages.value = empty;
  }, AFTER_MS);
  return () => {
    clearTimeout(timer);
    abort.abort();
  };
}
