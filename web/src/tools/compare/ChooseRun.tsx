/** Before anything is compared: the runs there are, those of the same program first, those that cannot be read last. */

import { useEffect, useMemo, useState } from "preact/hooks";

import { ApiError, apiUrl, getReport } from "../../api/client";
import type { RunInfo } from "../../api/types";
import { formatDate } from "../../base/format";
import { runId, runs } from "../../state/runs";
import { Empty } from "../../widgets/States";
import { isAskedAtOnce } from "../runs/listed";
import type { Known, Likeness } from "./neighbours";
import { byLikeness, likeness, mainProgram, neighbours } from "./neighbours";

/** Offered as buttons; the rest stands in the list above. */
const MOST = 8;
/** Neighbours that are asked for their program. */
const ASKED = 16;

/** The programs of runs, kept while the page is open. */
const known = new Map<string, Known>();

async function programOf(id: string, signal: AbortSignal): Promise<Known> {
  try {
    return mainProgram(await getReport(apiUrl("report/hlo-modules", [["run", id]]), signal));
  } catch (error) {
    return error instanceof ApiError && error.kind === "unreadable" ? "unreadable" : null;
  }
}

/** Asks for the programs of these runs, one after the other: a question on the page goes first. */
function usePrograms(ids: readonly string[]): ReadonlyMap<string, Known> {
  const [, setCame] = useState(0);
  useEffect(() => {
    const abort = new AbortController();
    const askAll = async (): Promise<void> => {
      for (const id of ids) {
        if (known.has(id)) continue;
        const program = await programOf(id, abort.signal);
        if (abort.signal.aborted) return;
        known.set(id, program);
        setCame((count) => count + 1);
      }
    };
    void askAll();
    return () => abort.abort();
  }, [ids.join("\n")]);
  return known;
}

export function ChooseRun({ what, onChoose }: { readonly what: string; readonly onChoose: (run: string) => void }) {
  const id = runId.value ?? "";
  const listed = runs.value?.runs ?? [];
  const near = useMemo(() => neighbours(listed, id), [listed, id]);
  const asked = near.slice(0, ASKED).filter(isAskedAtOnce);
  const programs = usePrograms([id, ...asked.map((run) => run.id)]);
  const of = (run: RunInfo): Likeness => likeness(programs.get(id), programs.get(run.id));
  if (near.length === 0)
    return (
      <Empty>This server has only one run. Record another into the same folder, or start the server with a folder that has both.</Empty>
    );
  const shown = byLikeness(near, of).slice(0, MOST);
  return (
    <div class="notice calm">
      <p class="notice-title">{what}</p>
      <ul class="compare-choices">
        {shown.map((run) => (
          <li key={run.id}>
            <button type="button" class="link" onClick={() => onChoose(run.id)}>
              {run.name}
            </button>
            <span class="sub">{` ${formatDate(run.modified_ms)}`}</span>
            {of(run) !== "" && <span class="compare-like">{of(run)}</span>}
          </li>
        ))}
      </ul>
      {near.length > shown.length && <p class="sub">{`${near.length - shown.length} more are in the list above.`}</p>}
    </div>
  );
}
