/** Controls for an analysis' own parameters, from its description. */

import type { AnalysisInfo, ParamInfo } from "../api/types";
import { go, view } from "../state/route";

/** What the URL says, else the default of the analysis. */
export function paramValue(param: ParamInfo): string {
  return view.value[param.id] ?? String(param.default ?? param.choices?.[0] ?? "");
}

export function paramQuery(info: AnalysisInfo): [string, string][] {
  return info.params.map((param): [string, string] => [param.id, view.value[param.id] ?? ""]).filter(([, value]) => value !== "");
}

export function Params({ info }: { readonly info: AnalysisInfo }) {
  return (
    <>
      {info.params.map((param) => (
        <label class="field" title={param.doc}>
          <span>{param.id.replaceAll("_", " ")}</span>
          <ParamControl param={param} />
        </label>
      ))}
    </>
  );
}

function ParamControl({ param }: { readonly param: ParamInfo }) {
  const value = paramValue(param);
  const set = (next: string): void => go({ view: { [param.id]: next === String(param.default ?? "") ? "" : next } });
  if (param.choices !== undefined && param.choices.length > 0) {
    return (
      <select value={value} onChange={(event) => set(event.currentTarget.value)}>
        {param.choices.map((choice) => (
          <option value={choice} selected={choice === value}>
            {choice}
          </option>
        ))}
      </select>
    );
  }
  return <input value={value} size={8} onChange={(event) => set(event.currentTarget.value.trim())} />;
}
