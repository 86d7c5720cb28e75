/** Every op of both runs with what it took before and after; a row leads to the op in either run. */

import { useMemo, useState } from "preact/hooks";

import { columnIndex, textAt } from "../../api/read";
import type { Table } from "../../api/types";
import { formatInt } from "../../base/format";
import { formatSort, parseSort } from "../../base/rows";
import { select as choose, go, hrefOf, view } from "../../state/route";
import { markIn } from "../../state/mark";
import { TableExport } from "../../widgets/Export";
import { Panel } from "../../widgets/Panel";
import { RowDetails } from "../../widgets/RowDetails";
import { DataTable } from "../../widgets/table/DataTable";
import type { OpName } from "../../widgets/op/card";
import { SIGNS } from "../../widgets/tone";
import { arranged } from "./columns";
import { absentIn, changeCounts, keyOf, toneOfChange, waysOf, withChange } from "./ops";

const FIRST = ["op", "change", "delta_ps", "baseline_ps", "experiment_ps", "category", "framework_op"];

export interface OpsPanelProps {
  readonly table: Table;
  readonly baseline: string;
  readonly experiment: string;
}

export function OpsPanel({ table, baseline, experiment }: OpsPanelProps) {
  const counts = changeCounts(table);
  const asked = view.value["change"] ?? "";
  const change = counts.some((one) => one.change === asked) ? asked : "";
  const shown = useMemo(() => arranged(withChange(table, change), FIRST), [table, change]);
  const [count, setCount] = useState(shown.rows.length);
  const filter = view.value["q"] ?? "";
  const named = view.value["sel"] ?? "";
  const at = named === "" ? -1 : shown.rows.findIndex((row) => keyOf(shown, row) === named);
  const selected = at >= 0 ? at : null;
  const select = (row: number | null): void => choose("sel", row === null ? "" : keyOf(shown, shown.rows[row]));
  // A finding may rest on a row that the filter leaves out.
  const marked = markIn("ops");
  const hidden = marked !== "" && change !== "" && !shown.rows.some((row) => String(row[0] ?? "") === marked);
  return (
    <div class={selected === null ? "split" : "split open"}>
      <Panel
        title={table.title || "Ops"}
        note={`${formatInt(count)} of ${formatInt(table.rows.length)}; times are per step`}
        flush
        class="grow"
        actions={
          <>
            <input
              class="filter"
              type="search"
              placeholder="Filter: words, -not"
              aria-label="Filter ops; a word with a minus excludes"
              value={filter}
              onInput={(event) => go({ view: { q: event.currentTarget.value } }, "replace")}
            />
            <TableExport table={table} name="compare-ops" />
          </>
        }
      >
        <div class="compare-changes" role="group" aria-label="Ops by how they changed">
          <button type="button" class="chip" aria-pressed={change === ""} onClick={() => go({ view: { change: "" } }, "replace")}>
            {`all ${formatInt(table.rows.length)}`}
          </button>
          {counts.map((one) => (
            <button
              type="button"
              class="chip"
              key={one.change}
              aria-pressed={change === one.change}
              onClick={() => go({ view: { change: one.change === change ? "" : one.change, sel: "" } }, "replace")}
            >
              <span aria-hidden="true">{`${SIGNS[toneOfChange(one.change)]} `}</span>
              {`${one.change} ${formatInt(one.count)}`}
            </button>
          ))}
        </div>
        {hidden && <p class="sub">{`The op ${marked} is not among these.`}</p>}
        <DataTable
          table={shown}
          fill
          absent={absentIn(shown)}
          second={columnIndex(shown, "change") >= 0 ? "change" : undefined}
          filter={filter}
          sort={parseSort(view.value["sort"])}
          onSort={(key) => go({ view: { sort: key === null ? "" : formatSort(key) } }, "replace")}
          selected={selected}
          onSelect={select}
          onCount={setCount}
        />
      </Panel>
      {selected !== null && (
        <div class="stack compare-details">
          <RowDetails
            table={shown}
            row={selected}
            onClose={() => select(null)}
            op={opIn(shown, selected)}
            actions={<Ways {...{ table: shown, row: selected, baseline, experiment }} />}
          />
        </div>
      )}
    </div>
  );
}

/** The op of a row as the baseline, the run that the page is about, has it; null where it has none. */
function opIn(table: Table, row: number): OpName | null {
  const text = (id: string): string => textAt(table.rows[row], columnIndex(table, id)) ?? "";
  const name = text("was") || text("op");
  return text("change") === "new" || name === "" ? null : { name, module: text("module"), where: "In the baseline:" };
}

function Ways({ table, row, baseline, experiment }: OpsPanelProps & { readonly row: number }) {
  return (
    <span class="leads">
      {waysOf(table, table.rows[row], baseline, experiment).map((way) => (
        <a key={way.label} href={hrefOf(way.to)} data-nav="op">
          {way.label}
        </a>
      ))}
    </span>
  );
}
