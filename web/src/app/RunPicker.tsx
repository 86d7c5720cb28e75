import type { Runs } from "../api/types";
import { formatBytes, formatDate } from "../base/format";
import { go } from "../state/route";
import { currentRun, runId } from "../state/runs";

/** Newest first, as the server lists them. */
export function RunPicker({ runs }: { readonly runs: Runs | null }) {
  const run = currentRun.value;
  const id = runId.value ?? "";
  const known = runs?.runs ?? [];
  return (
    <div class="run">
      <label>
        <span class="visually-hidden">Run</span>
        <select value={id} onChange={(event) => go({ run: event.currentTarget.value })} data-tip={run?.path}>
          {!known.some((one) => one.id === id) && <option value={id}>{id === "" ? "no run" : id}</option>}
          {known.map((one) => (
            <option value={one.id} selected={one.id === id}>
              {one.name}
            </option>
          ))}
        </select>
      </label>
      {run !== null && (
        <span class="run-facts">
          {`${run.hosts.length} ${run.hosts.length === 1 ? "host" : "hosts"} · ${formatBytes(run.size_bytes, 3)} · ${formatDate(run.modified_ms)}`}
        </span>
      )}
    </div>
  );
}
