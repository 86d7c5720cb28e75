/** What becomes of the shown listing when a newer one comes. */

import type { RunInfo, Runs } from "../api/types";

export interface Followed {
  readonly runs: Runs;
  readonly arrived: RunInfo | null;
  /** Files of a run that was listed before are others now. */
  readonly changed: boolean;
  /** Runs that were complete, and whose files are others now: what is shown of them is of the former ones. */
  readonly replaced: readonly string[];
}

/** A newer listing in the place of one that is shown. Who looks at the run that was the newest stays there. */
export function followed(before: Runs, fresh: Runs): Followed {
  const known = new Map(before.runs.map((run) => [run.id, run]));
  const stays = before.default !== null && fresh.runs.some((run) => run.id === before.default);
  // A run that was listed while it was written comes when it is complete.
  const isNew = (run: RunInfo): boolean => run.writing !== true && known.get(run.id)?.writing !== false;
  // What somebody dropped is of no interest to others.
  const complete = fresh.runs.find((run) => run.writing !== true && run.dropped !== true);
  const others = fresh.runs.filter((run) => {
    const old = known.get(run.id);
    return old !== undefined && (old.modified_ms !== run.modified_ms || old.size_bytes !== run.size_bytes);
  });
  return {
    runs: stays ? { ...fresh, default: before.default } : fresh,
    arrived: before.runs.length > 0 && complete !== undefined && isNew(complete) ? complete : null,
    changed: others.length > 0,
    replaced: others.filter((run) => known.get(run.id)?.writing !== true).map((run) => run.id),
  };
}
