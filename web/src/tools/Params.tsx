/** Controls for an analysis' own parameters, from its description. */

import { columnIndex, tableOf, textAt } from "../api/read";
import type { AnalysisInfo, ParamInfo } from "../api/types";
import { useReport } from "../state/resource";
import { go, view } from "../state/route";
import { runId, runs } from "../state/runs";
import { ModulePicker } from "./ModulePicker";

/** What the URL says, else the default of the analysis. */
export function paramValue(param: ParamInfo): string {
  return view.value[param.id] ?? String(param.default ?? param.choices?.[0] ?? "");
}

export function paramQuery(info: AnalysisInfo): [string, string][] {
  const ids = info.params.map((param) => param.id);
  if (info.others !== null && info.others !== undefined) ids.push(info.others);
  return ids.map((id): [string, string] => [id, view.value[id] ?? ""]).filter(([, value]) => value !== "");
}

/** `leave`: parameters that the page asks for itself. */
export function Params({ info, leave = [] }: { readonly info: AnalysisInfo; readonly leave?: readonly string[] }) {
  return (
    <>
      {info.others === "other" && <OtherRun word="other" label="other run" none="this run" />}
      {info.others === "baseline" && <OtherRun word="baseline" label="baseline" none="none" />}
      {info.params
        .filter((param) => !leave.includes(param.id))
        .map((param) =>
          param.id === "module" ? (
            <ModulePicker key={param.id} />
          ) : (
            <label class={param.kind === "document" ? "field document" : "field"} data-tip={param.doc} key={param.id}>
              <span>{param.id.replaceAll(/[_-]/g, " ")}</span>
              {param.id === "op" && (info.family === "kernel" || info.id === "kernel") ? (
                <KernelControl param={param} />
              ) : (
                <ParamControl param={param} />
              )}
            </label>
          ),
        )}
    </>
  );
}

interface OtherRunProps {
  /** The address' key of the run. */
  readonly word: "other" | "baseline";
  readonly label: string;
  /** What is done without one. */
  readonly none: string;
}

/** The second of two runs. */
function OtherRun({ word, label, none }: OtherRunProps) {
  const value = view.value[word] ?? "";
  return (
    <label class="field" data-tip="The run to compare this one with">
      <span>{label}</span>
      <select value={value} onChange={(event) => go({ view: { [word]: event.currentTarget.value } })}>
        <option value="">{none}</option>
        {(runs.value?.runs ?? [])
          .filter((run) => run.id !== runId.value)
          .map((run) => (
            <option key={run.id} value={run.id} selected={run.id === value}>
              {run.name}
            </option>
          ))}
      </select>
    </label>
  );
}

/** The run's kernels by name; nothing chosen is the one that took most time. */
function KernelControl({ param }: { readonly param: ParamInfo }) {
  const list = useReport("kernel-list");
  const table = tableOf(list.data, "kernels");
  const at = table === null ? -1 : columnIndex(table, "kernel");
  const names = table === null || at < 0 ? [] : table.rows.flatMap((row) => textAt(row, at) ?? []);
  if (names.length === 0) return <ParamControl param={param} />;
  const value = paramValue(param);
  return (
    <select value={value} onChange={(event) => go({ view: { [param.id]: event.currentTarget.value } })}>
      <option value="">the longest</option>
      {value !== "" && !names.includes(value) && (
        <option value={value} selected>
          {value}
        </option>
      )}
      {names.map((name) => (
        <option key={name} value={name} selected={name === value}>
          {name}
        </option>
      ))}
    </select>
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
  if (param.kind === "document") {
    return (
      <textarea
        rows={2}
        cols={34}
        spellcheck={false}
        placeholder="the text of a file"
        value={value}
        onChange={(event) => set(event.currentTarget.value)}
      />
    );
  }
  const numeric = param.kind === "count" || param.kind === "quantity";
  return (
    <input
      value={value}
      size={numeric ? 5 : 14}
      inputMode={param.kind === "count" ? "numeric" : undefined}
      spellcheck={false}
      autocomplete="off"
      onChange={(event) => set(event.currentTarget.value.trim())}
    />
  );
}
