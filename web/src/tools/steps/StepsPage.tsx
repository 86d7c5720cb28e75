import { useMemo } from "preact/hooks";

import { columnIndex, numberAt, tableOf, textAt } from "../../api/read";
import type { Report } from "../../api/types";
import { parseSort, formatSort } from "../../base/rows";
import { go, scope, view } from "../../state/route";
import { useReport, useWholeReport } from "../../state/resource";
import "../../styles/time.css";
import { StackChart } from "../../widgets/chart/StackChart";
import { StepChart } from "../../widgets/chart/StepChart";
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
import { stepPoints } from "./points";
import { stepStacks } from "./stacks";
import { WhyPanel } from "./WhyPanel";

export function StepsPage({ info }: PageProps) {
  const report = useReport("steps", paramQuery(info));
  return (
    <>
      <PageHead info={info}>
        <Params info={info} />
      </PageHead>
      <Loaded from={report} what="step times">
        {(data) => <Steps report={data} />}
      </Loaded>
    </>
  );
}

function Steps({ report }: { readonly report: Report }) {
  const table = tableOf(report, "steps");
  // A step is named in the address: rows change with the scope.
  const column = table === null ? -1 : columnIndex(table, "step");
  const found = table === null || !view.value["sel"] ? -1 : table.rows.findIndex((row) => textAt(row, column) === view.value["sel"]);
  const selected = found < 0 ? null : found;
  const setSelected = (row: number | null): void =>
    go({ view: { sel: row === null ? "" : (textAt(table?.rows[row], column) ?? "") } }, "replace");
  const stacks = useMemo(() => stepStacks(tableOf(report, "classes")), [report]);
  const rowOf = (step: string | undefined): number | null => table?.rows.findIndex((row) => textAt(row, column) === step) ?? null;
  const points = useMemo(() => stepPoints(report), [report]);
  // A scope of one step asks about it as a click does; what it is held against lies outside of the scope.
  const alone = /^\d+$/.test(scope.value.steps) ? Number(scope.value.steps) : null;
  const whole = useWholeReport("steps", alone !== null);
  const asked = selected === null ? alone : numberAt(table?.rows[selected], column);
  const among = alone === null ? report : whole.data;
  const why = asked === null || among === null ? null : <WhyPanel report={among} number={asked} />;
  return (
    <>
      <Findings report={report} />
      {selected === null && why}
      <ValueCards report={report} />
      {table === null || table.rows.length === 0 ? (
        <Lacking>
          No steps in this scope. A profile without step markers may still have module launches: see the data quality notes.
        </Lacking>
      ) : (
        <>
          {stacks.length > 0 && (
            <Panel title="What takes each step's time" note="on its slowest device" picture="steps-classes">
              <StackChart
                label="Time of each step by class"
                unit="step"
                stacks={stacks}
                onPick={(index) => setSelected(rowOf(stacks[index]?.label))}
              />
            </Panel>
          )}
          {selected !== null && why}
          <Panel title="Step time by device" picture="steps-times">
            <StepChart points={points} onPick={setSelected} />
          </Panel>
          {selected !== null && <RowDetails table={table} row={selected} onClose={() => setSelected(null)} />}
          <Panel title={table.title} note={`${table.rows.length} rows`} flush actions={<TableExport table={table} name="steps" />}>
            <DataTable
              table={table}
              sort={parseSort(view.value["sort"])}
              onSort={(key) => go({ view: { sort: key === null ? "" : formatSort(key) } }, "replace")}
              selected={selected}
              onSelect={setSelected}
            />
          </Panel>
        </>
      )}
      {report.tables
        .filter((other) => other.id !== "steps")
        .map((other) => (
          <TablePanel key={other.id} table={other} name="steps" />
        ))}
      {report.quality.length > 0 && <QualityList quality={report.quality} />}
      <ProvenanceFoot report={report} />
    </>
  );
}
