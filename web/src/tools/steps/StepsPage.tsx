import { useMemo, useState } from "preact/hooks";

import { columnIndex, numberAt, tableOf, textAt } from "../../api/read";
import type { Report, Table } from "../../api/types";
import { parseSort, formatSort } from "../../base/rows";
import { go, view } from "../../state/route";
import { useReport } from "../../state/resource";
import { formatWindow } from "../../state/url";
import { StepChart } from "../../widgets/chart/StepChart";
import { Panel } from "../../widgets/Panel";
import { Findings, ProvenanceFoot, QualityList, ValueCards } from "../../widgets/Report";
import { RowDetails } from "../../widgets/RowDetails";
import { Empty, Loaded } from "../../widgets/States";
import { DataTable } from "../../widgets/table/DataTable";
import { downloadCsv } from "../../widgets/table/download";
import { TablePanel } from "../../widgets/table/TablePanel";
import { PageHead } from "../PageHead";
import type { PageProps } from "../pages";
import { Params, paramQuery } from "../Params";
import { stepPoints } from "./points";

export function StepsPage({ info }: PageProps) {
  const report = useReport("steps", paramQuery(info));
  return (
    <>
      <PageHead title="Steps" question={info.question}>
        <Params info={info} />
      </PageHead>
      <Loaded from={report} what="step times">
        {(data) => <Steps report={data} />}
      </Loaded>
    </>
  );
}

/** From one step to the rest of the page: its number as the scope, its time on the timeline. */
function StepActions({ table, row }: { readonly table: Table; readonly row: number }) {
  const cells = table.rows[row];
  const step = textAt(cells, columnIndex(table, "step", "step_number"));
  const start = numberAt(cells, columnIndex(table, "start_ps"));
  const duration = numberAt(cells, columnIndex(table, "duration_ps", "step_time_ps"));
  return (
    <>
      {step !== null && /^\d+$/.test(step) && (
        <button type="button" class="quiet" onClick={() => go({ scope: { steps: step } })}>
          Scope to this step
        </button>
      )}
      {start !== null && duration !== null && duration > 0 && (
        <button
          type="button"
          class="quiet"
          onClick={() => go({ page: "timeline", view: { view: formatWindow(start - duration * 0.05, start + duration * 1.05) } })}
        >
          Show on the timeline
        </button>
      )}
    </>
  );
}

function Steps({ report }: { readonly report: Report }) {
  const [selected, setSelected] = useState<number | null>(null);
  const table = tableOf(report, "steps");
  const points = useMemo(() => stepPoints(report), [report]);
  return (
    <>
      <Findings report={report} />
      <ValueCards report={report} />
      {table === null || table.rows.length === 0 ? (
        <Empty>No steps in this scope. A profile without step markers may still have module launches: see the data quality notes.</Empty>
      ) : (
        <>
          <Panel title="Step times">
            <StepChart points={points} onPick={setSelected} />
          </Panel>
          {selected !== null && (
            <RowDetails
              table={table}
              row={selected}
              onClose={() => setSelected(null)}
              actions={<StepActions table={table} row={selected} />}
            />
          )}
          <Panel
            title={table.title}
            note={`${table.rows.length} rows`}
            flush
            actions={
              <button type="button" class="quiet" onClick={() => downloadCsv(table, "steps")}>
                CSV
              </button>
            }
          >
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
