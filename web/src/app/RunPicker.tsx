import type { Runs } from "../api/types";
import { formatBytes, formatDate } from "../base/format";
import { arrived } from "../state/listing";
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
              {one.writing === true ? `${one.name} (being written)` : one.name}
            </option>
          ))}
        </select>
      </label>
      {run !== null && (
        <span class="run-facts">
          {`${run.hosts.length} ${run.hosts.length === 1 ? "host" : "hosts"} · ${formatBytes(run.size_bytes, 3)} · ${formatDate(run.modified_ms)}`}
        </span>
      )}
      <Arrived />
    </div>
  );
}

/** A run that came while the page was open: it is not gone to by itself. */
function Arrived() {
  const one = arrived.value;
  const isShown = one !== null && one.id !== runId.value;
  return (
    <span role="status" class="run-new">
      {isShown && (
        <button
          type="button"
          class="quiet"
          data-tip={one.path}
          onClick={() => {
            arrived.value = null;
            go({ run: one.id });
          }}
        >
          {`New run: ${one.name}`}
        </button>
      )}
    </span>
  );
}
