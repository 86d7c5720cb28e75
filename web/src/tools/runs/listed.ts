/** Which runs of the list are shown, and which of them are asked how they are. Pure. */

import type { RunInfo } from "../../api/types";

/** Larger runs are asked when somebody says so: it takes longer than a list may. */
const MOST_BYTES = 64 * 2 ** 20;

/** The runs whose name or hosts hold each word, and none of those with a minus. */
export function fitting(runs: readonly RunInfo[], filter: string): readonly RunInfo[] {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return runs;
  return runs.filter((run) => {
    const text = `${run.name} ${run.hosts.join(" ")}`.toLowerCase();
    return words.every((word) => (word.length > 1 && word.startsWith("-") ? !text.includes(word.slice(1)) : text.includes(word)));
  });
}

/** Whether a run is asked without being told to. */
export function isAskedAtOnce(run: RunInfo): boolean {
  return run.writing !== true && run.size_bytes <= MOST_BYTES;
}
