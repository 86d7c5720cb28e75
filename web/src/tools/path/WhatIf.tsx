/** What a step would take if parts of it were faster: the question, and the answer as bars. */

import { useEffect, useState } from "preact/hooks";

import { columnIndex, numberAt, tableOf, textAt, valueNumber } from "../../api/read";
import type { AnalysisInfo, Report } from "../../api/types";
import { formatDuration } from "../../base/format";
import { go, view } from "../../state/route";
import { Bars } from "../../widgets/chart/Bars";
import { speedupText } from "../../widgets/links";
import { Panel } from "../../widgets/Panel";
import { changesOf, examplesOf, toggled } from "./strip";

export function WhatIfPanel({ report, info }: { readonly report: Report; readonly info: AnalysisInfo }) {
  const param = info.params.find((one) => one.id === "if");
  const rows = projected(report);
  if (param === undefined && rows.length === 0) return null;
  const measured = valueNumber(report, "step_ps") ?? 0;
  const asked = view.value["if"] ?? "";
  return (
    <Panel
      title="What if"
      note={asked === "" ? "the step with each change alone" : "the step with these changes"}
      picture="critical-path-what-if"
    >
      {param !== undefined && <Form asked={asked} doc={param.doc} offered={asked === "" ? rows.map((row) => row.change) : []} />}
      {rows.length > 0 && (
        <Bars
          full={Math.max(measured, ...rows.map((row) => row.step))}
          rows={[
            ...(measured > 0 ? [{ name: "as measured", step: measured, speedup: null }] : []),
            ...rows.map(({ change, step, speedup }) => ({ name: change, step, speedup })),
          ].map(({ name, step, speedup }) => ({
            name,
            parts: [{ name: "step", value: step, text: formatDuration(step), colour: speedup === null ? "var(--unknown)" : "var(--busy)" }],
            text: `${formatDuration(step, 4)}${speedup === null ? "" : ` · ${speedupText(speedup)}`}`,
          }))}
        />
      )}
    </Panel>
  );
}

interface Row {
  readonly change: string;
  readonly step: number;
  readonly speedup: number | null;
}

function projected(report: Report): Row[] {
  const table = tableOf(report, "what_if");
  if (table === null) return [];
  const [change, step, speedup] = [
    columnIndex(table, "change"),
    columnIndex(table, "step_ps", "projected_ps"),
    columnIndex(table, "speedup"),
  ];
  return table.rows.flatMap((row) => {
    const ps = numberAt(row, step);
    return ps === null ? [] : [{ change: textAt(row, change) ?? "", step: ps, speedup: numberAt(row, speedup) }];
  });
}

function Form({ asked, doc, offered }: { readonly asked: string; readonly doc: string; readonly offered: readonly string[] }) {
  const [text, setText] = useState(asked);
  useEffect(() => setText(asked), [asked]);
  const set = (next: string): void => go({ view: { if: changesOf(next).join("; ") } });
  const chosen = changesOf(asked);
  // Examples name ops that this run may not have: what the report itself projected does.
  const examples = [...new Set([...offered, ...examplesOf(doc).filter((one) => !/\.\d+\b/.test(one)), ...chosen])];
  return (
    <form
      class="what-if"
      onSubmit={(event) => {
        event.preventDefault();
        set(text);
      }}
    >
      <label class="field">
        <span>If</span>
        <input
          value={text}
          size={44}
          spellcheck={false}
          autocomplete="off"
          placeholder="all-gather free; fusion.12 x0.7"
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
      <button type="submit" class="primary">
        Project
      </button>
      {asked !== "" && (
        <button type="button" class="quiet" onClick={() => set("")}>
          Clear
        </button>
      )}
      <div class="what-if-examples" role="group" aria-label="Changes to try">
        {examples.map((one) => (
          <button key={one} type="button" class="chip" aria-pressed={chosen.includes(one)} onClick={() => set(toggled(asked, one))}>
            {one}
          </button>
        ))}
      </div>
    </form>
  );
}
