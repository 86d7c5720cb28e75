import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";

import type { AnalysisInfo } from "../../api/types";
import { formatInt } from "../../base/format";
import { go, view } from "../../state/route";
import { useReport } from "../../state/resource";
import { Panel } from "../../widgets/Panel";
import { Loaded } from "../../widgets/States";
import { DataTable } from "../../widgets/table/DataTable";
import { taken } from "../ask";
import { instructionAt, moduleAt } from "./say";

export interface SearchProps {
  readonly info: AnalysisInfo | undefined;
  readonly module: string;
  /** Controls that stand beside it. */
  readonly children: ComponentChildren;
}

/** Finds instructions of the module; a row leads to its place in the graph. */
export function Search({ info, module, children }: SearchProps) {
  const words = view.value["q"] ?? "";
  const [typed, setTyped] = useState(words);
  useEffect(() => setTyped(words), [words]);
  return (
    <>
      <div class="hlo-bar">
        {info !== undefined && (
          <form
            class="hlo-find"
            role="search"
            aria-label="Instructions"
            onSubmit={(event) => {
              event.preventDefault();
              go({ view: { q: typed.trim() } });
            }}
          >
            <input
              class="filter"
              type="search"
              placeholder="Find instructions"
              aria-label="Find instructions by name, scope or text"
              value={typed}
              onInput={(event) => {
                setTyped(event.currentTarget.value);
                if (event.currentTarget.value === "") go({ view: { q: "" } }, "replace");
              }}
            />
            <button type="submit">Find</button>
          </form>
        )}
        {children}
      </div>
      {info !== undefined && words !== "" && <Results info={info} module={module} words={words} />}
    </>
  );
}

function Results({ info, module, words }: { readonly info: AnalysisInfo; readonly module: string; readonly words: string }) {
  const report = useReport(info.id, taken(info, { module, query: words }));
  return (
    <Loaded from={report} what="the instructions">
      {(data) => {
        const table = data.tables[0];
        return table === undefined ? null : (
          <Panel
            title={`Found: ${words}`}
            note={`${formatInt(table.rows.length)} rows; Enter or a click draws around one`}
            flush
            class="search-panel"
            actions={
              <button type="button" class="quiet" onClick={() => go({ view: { q: "" } })}>
                Close
              </button>
            }
          >
            <DataTable
              table={table}
              onSelect={(row) => {
                if (row !== null)
                  go({ view: { module: moduleAt(table, row) || module, node: instructionAt(table, row), sel: "", to: "", open: "" } });
              }}
            />
          </Panel>
        );
      }}
    </Loaded>
  );
}
