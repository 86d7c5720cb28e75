import type { RunInfo, Runs } from "../api/types";
import { formatBytes, formatDate } from "../base/format";
import { arrived, replaced } from "../state/listing";
import { go, hrefOf } from "../state/route";
import { currentRun, runId } from "../state/runs";

function options(runs: readonly RunInfo[], id: string) {
  return runs.map((one) => (
    <option value={one.id} selected={one.id === id}>
      {one.writing === true ? `${one.name} (being written)` : one.name}
    </option>
  ));
}

/** Newest first, as the server lists them; files that somebody dropped on the page stand apart. */
export function RunPicker({ runs }: { readonly runs: Runs | null }) {
  const run = currentRun.value;
  const id = runId.value ?? "";
  const known = runs?.runs ?? [];
  const [own, dropped] = [known.filter((one) => one.dropped !== true), known.filter((one) => one.dropped === true)];
  return (
    <div class="run">
      <label>
        <span class="visually-hidden">Run</span>
        <select value={id} onChange={(event) => go({ run: event.currentTarget.value })} data-tip={run?.path}>
          {!known.some((one) => one.id === id) && <option value={id}>{id === "" ? "no run" : id}</option>}
          {options(own, id)}
          {dropped.length > 0 && <optgroup label="Dropped on the page">{options(dropped, id)}</optgroup>}
        </select>
      </label>
      <a class="run-all" href={hrefOf({ page: "runs" })} data-nav="runs" data-tip="All runs, with their device, step time and diagnosis">
        All runs
      </a>
      {run !== null && (
        <span class="run-facts">
          {`${run.hosts.length} ${run.hosts.length === 1 ? "host" : "hosts"} · ${formatBytes(run.size_bytes, 3)} · ${formatDate(run.modified_ms)}`}
        </span>
      )}
      <span role="status" class="run-new">
        <Replaced id={id} />
        <Arrived />
      </span>
    </div>
  );
}

/** The files of the run that is shown are others now: what is on the page, drawings and tiles too, is of the former ones. */
function Replaced({ id }: { readonly id: string }) {
  if (!replaced.value.has(id)) return null;
  return (
    <button type="button" class="quiet" data-tip="This page still shows the old files" onClick={() => location.reload()}>
      The files of this run were replaced: reload it
    </button>
  );
}

/** A run that came while the page was open: it is not gone to by itself. */
function Arrived() {
  const one = arrived.value;
  if (one === null || one.id === runId.value) return null;
  return (
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
  );
}
