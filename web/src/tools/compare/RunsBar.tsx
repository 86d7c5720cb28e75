/** Which run is the baseline and which are held against it. */

import { go, view } from "../../state/route";
import { runId, runs } from "../../state/runs";
import { experimentsOf, firstExperiment, toggled, withBaseline } from "./address";

export function runName(id: string): string {
  return runs.value?.runs.find((run) => run.id === id)?.name ?? id;
}

export function RunsBar({ many }: { readonly many: boolean }) {
  const baseline = runId.value ?? "";
  const known = runs.value?.runs ?? [];
  const chosen = experimentsOf(view.value["other"]);
  const free = known.filter((run) => run.id !== baseline && !chosen.includes(run.id));
  const only = chosen.length === 1 ? (chosen[0] ?? "") : "";
  return (
    <div class="compare-runs">
      <label class="field">
        <span>baseline</span>
        <select value={baseline} onChange={(event) => go(withBaseline(event.currentTarget.value, chosen, baseline))}>
          {!known.some((run) => run.id === baseline) && <option value={baseline}>{baseline}</option>}
          {known.map((run) => (
            <option key={run.id} value={run.id} selected={run.id === baseline}>
              {run.name}
            </option>
          ))}
        </select>
      </label>
      {only !== "" && (
        <button
          type="button"
          class="quiet"
          data-tip="Swap baseline and experiment"
          onClick={() => go(withBaseline(only, chosen, baseline))}
        >
          Swap
        </button>
      )}
      <span class="compare-experiments">
        <span class="scope-key">{chosen.length > 1 ? "experiments" : "experiment"}</span>
        {chosen.map((id) => (
          <span class="compare-chip" key={id}>
            <span>{runName(id)}</span>
            <button
              type="button"
              class="quiet"
              aria-label={`Leave out ${runName(id)}`}
              data-tip="Leave this run out"
              onClick={() => go(toggled(chosen, id))}
            >
              ×
            </button>
          </span>
        ))}
        {free.length > 0 && (many || chosen.length === 0) && (
          <select
            aria-label={chosen.length === 0 ? "Choose the experiment" : "Add an experiment"}
            value=""
            onChange={(event) => {
              const id = event.currentTarget.value;
              go(chosen.length === 0 ? firstExperiment(id) : toggled(chosen, id));
            }}
          >
            <option value="">{chosen.length === 0 ? "choose a run" : "one more"}</option>
            {free.map((run) => (
              <option key={run.id} value={run.id}>
                {run.name}
              </option>
            ))}
          </select>
        )}
      </span>
    </div>
  );
}

export function chooseExperiment(id: string): void {
  go(firstExperiment(id));
}
