import type { AnalysisInfo } from "../../api/types";
import { go, view } from "../../state/route";
import { paramValue } from "../Params";
import { colourBy } from "./say";

const LARGEST_RADIUS = 8;

/** How far the graph goes, which way, and what its colours say. */
export function GraphBar({ info }: { readonly info: AnalysisInfo }) {
  const radius = info.params.find((param) => param.id === "radius");
  const direction = info.params.find((param) => param.id === "direction");
  const to = view.value["to"] ?? "";
  const steps = radius === undefined ? 0 : Number(paramValue(radius)) || 0;
  const setRadius = (next: number): void =>
    go({ view: { radius: String(next) === String(radius?.default ?? "") ? "" : String(next) } }, "replace");
  return (
    <div class="hlo-bar" role="group" aria-label="What the graph shows">
      {radius !== undefined && (
        <label class="field" data-tip={radius.doc}>
          <span>radius</span>
          <input
            type="number"
            min={1}
            max={LARGEST_RADIUS}
            value={steps}
            onChange={(event) => setRadius(Math.min(LARGEST_RADIUS, Math.max(1, Number(event.currentTarget.value) || 1)))}
          />
        </label>
      )}
      {direction !== undefined && (
        <label class="field" data-tip={direction.doc}>
          <span>direction</span>
          <select
            value={paramValue(direction)}
            onChange={(event) =>
              go(
                { view: { direction: event.currentTarget.value === String(direction.default ?? "") ? "" : event.currentTarget.value } },
                "replace",
              )
            }
          >
            {(direction.choices ?? []).map((choice) => (
              <option key={choice} value={choice} selected={choice === paramValue(direction)}>
                {choice}
              </option>
            ))}
          </select>
        </label>
      )}
      <label class="field">
        <span>colour</span>
        <select
          value={colourBy()}
          onChange={(event) => go({ view: { colour: event.currentTarget.value === "time" ? "" : event.currentTarget.value } }, "replace")}
        >
          <option value="time">measured time</option>
          <option value="flops">FLOPs by shapes</option>
          <option value="bytes">bytes by shapes</option>
        </select>
      </label>
      <label class="field check">
        <input
          type="checkbox"
          checked={view.value["layers"] !== "0"}
          onChange={(event) => go({ view: { layers: event.currentTarget.checked ? "" : "0" } }, "replace")}
        />
        <span>fold layers</span>
      </label>
      {to !== "" && (
        <span class="chip">
          {`path to ${to}`}
          <button type="button" aria-label="Clear the path" onClick={() => go({ view: { to: "" } })}>
            ×
          </button>
        </span>
      )}
    </div>
  );
}
