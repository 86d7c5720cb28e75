import { useMemo, useState } from "preact/hooks";

import { columnIndex, tableOf, textAt } from "../../api/read";
import { getSteps } from "../../api/timeline";
import type { Report, Table } from "../../api/types";
import { formatInt } from "../../base/format";
import { formatSort, parseSort } from "../../base/rows";
import { select as choose, go, scope, view } from "../../state/route";
import { useReport, useReportOf, useResource } from "../../state/resource";
import { runId } from "../../state/runs";
import { Panel } from "../../widgets/Panel";
import { Findings, ProvenanceFoot, QualityList, ValueCards } from "../../widgets/Report";
import { RowDetails } from "../../widgets/RowDetails";
import { Lacking, Loaded } from "../../widgets/States";
import { DataTable } from "../../widgets/table/DataTable";
import { TableExport } from "../../widgets/Export";
import { TablePanel } from "../../widgets/table/TablePanel";
import { PageHead } from "../PageHead";
import type { PageProps } from "../pages";
import { Params, paramQuery } from "../Params";
import { TimeTree } from "./TimeTree";
import type { StepOps } from "./perStep";
import { stepsShown, withSteps } from "./perStep";
import type { OpName } from "../../widgets/op/card";
import { hasNamesakes, rowKey, rowOf } from "../../widgets/op/named";

export function OpsPage({ info }: PageProps) {
  const report = useReport("ops", paramQuery(info));
  return (
    <>
      <PageHead info={info}>
        <Params info={info} />
      </PageHead>
      <Loaded from={report} what="operations">
        {(data) => <Ops report={data} />}
      </Loaded>
    </>
  );
}

function Ops({ report }: { readonly report: Report }) {
  const table = tableOf(report, "ops") ?? report.tables[0] ?? null;
  return (
    <>
      <Findings report={report} />
      <ValueCards report={report} />
      {table === null || table.rows.length === 0 ? <Lacking>No operations ran in this scope.</Lacking> : <OpsTable table={table} />}
      {report.tables
        .filter((other) => other !== table)
        .map((other) => (
          <TablePanel key={other.id} table={other} name="ops" />
        ))}
      {report.quality.length > 0 && <QualityList quality={report.quality} />}
      <ProvenanceFoot report={report} />
    </>
  );
}

/** The op of a row; null where rows are groups, or what the host ran. */
function opAt(table: Table, row: number): OpName | null {
  const { by = "op", on = "device" } = view.value;
  if (by !== "op" || on !== "device") return null;
  const text = (id: string): string => textAt(table.rows[row], columnIndex(table, id)) ?? "";
  return { name: text("name"), module: text("module") };
}

function OpsTable({ table }: { readonly table: Table }) {
  const perStep = usePerStep(table);
  return <OpsList key={table.id} table={perStep.table} perStep={perStep} />;
}

interface PerStep {
  readonly table: Table;
  /** Whether there are steps to show. */
  readonly can: boolean;
  readonly on: boolean;
  readonly loading: boolean;
}

/** The table with the time of each op in the usual step and in the longest, where that is asked for. Of a scope that is some steps or a
 * time already there is no usual step. */
function usePerStep(table: Table): PerStep {
  const run = runId.value;
  const { by = "op", on: where = "device" } = view.value;
  const can = run !== null && by === "op" && where === "device" && scope.value.steps === "" && scope.value.window === "";
  const on = can && view.value["step"] === "1";
  const key = `timeline steps ${run}`;
  const steps = useResource(on ? key : null, key, (signal) => getSteps(run ?? "", signal));
  const shown = on ? stepsShown(steps.data?.steps ?? []) : null;
  const [usual, longest] = [shown?.usual.number ?? null, shown?.longest?.number ?? null];
  const first = useReportOf(usual === null ? null : run, "ops", [["steps", String(usual)]]);
  const second = useReportOf(longest === null ? null : run, "ops", [["steps", String(longest)]]);
  const [ofUsual, ofLongest] = [tableOf(first.data, "ops"), tableOf(second.data, "ops")];
  const wide = useMemo(() => {
    const found: StepOps[] = [];
    if (usual !== null && ofUsual !== null) found.push({ number: usual, what: "the median steady step", ops: ofUsual });
    if (longest !== null && ofLongest !== null) found.push({ number: longest, what: "the longest", ops: ofLongest });
    return withSteps(table, found);
  }, [table, usual, longest, ofUsual, ofLongest]);
  return { table: wide, can, on, loading: on && (steps.data === null || (usual !== null && ofUsual === null)) };
}

function OpsList({ table, perStep }: { readonly table: Table; readonly perStep: PerStep }) {
  const [count, setCount] = useState(table.rows.length);
  const filter = view.value["q"] ?? "";
  // A row is named in the URL: indices change with the scope.
  const named = view.value["sel"] ?? "";
  const found = useMemo(() => rowOf(table, named), [table, named]);
  const ambiguous = useMemo(() => hasNamesakes(table), [table]);
  // Several rows may have one name; the one that was picked stays picked.
  const [picked, setPicked] = useState<number | null>(null);
  const selected = picked !== null && named !== "" && rowKey(table, table.rows[picked]) === named ? picked : found >= 0 ? found : null;
  const select = (row: number | null): void => {
    setPicked(row);
    choose("sel", row === null ? "" : rowKey(table, table.rows[row]));
  };
  return (
    <>
      <TimeTree table={table} selected={selected} onSelect={select} />
      <div class={selected === null ? "split" : "split open"}>
        <Panel
          title={table.title}
          note={count === table.rows.length ? `${formatInt(count)} rows` : `${formatInt(count)} of ${formatInt(table.rows.length)} rows`}
          flush
          class="grow"
          actions={
            <>
              {perStep.can && (
                <label class="check" data-tip="What each op takes in the median steady step, and in the longest step">
                  <input
                    type="checkbox"
                    checked={perStep.on}
                    onChange={(event) => go({ view: { step: event.currentTarget.checked ? "1" : "" } }, "replace")}
                  />
                  by step
                </label>
              )}
              <input
                class="filter"
                type="search"
                placeholder="Filter: words, -not"
                aria-label="Filter operations; a word with a minus excludes"
                value={filter}
                onInput={(event) => go({ view: { q: event.currentTarget.value } }, "replace")}
              />
              <TableExport table={table} name={`ops-${view.value["by"] ?? "op"}`} />
            </>
          }
        >
          <DataTable
            table={table}
            fill
            second={ambiguous ? "module" : undefined}
            filter={filter}
            sort={parseSort(view.value["sort"])}
            onSort={(key) => go({ view: { sort: key === null ? "" : formatSort(key) } }, "replace")}
            selected={selected}
            onSelect={select}
            onCount={setCount}
          />
        </Panel>
        {selected !== null && <RowDetails table={table} row={selected} onClose={() => select(null)} op={opAt(table, selected)} />}
      </div>
    </>
  );
}
