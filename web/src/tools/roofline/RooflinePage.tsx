import { useState } from "preact/hooks";

import { tableOf } from "../../api/read";
import type { Report, Table } from "../../api/types";
import { formatSort, parseSort } from "../../base/rows";
import { select as choose, go, view } from "../../state/route";
import { useReport } from "../../state/resource";
import { Panel } from "../../widgets/Panel";
import { Findings, ProvenanceFoot, QualityList, ValueCards } from "../../widgets/Report";
import { RowDetails } from "../../widgets/RowDetails";
import { Lacking, Loaded } from "../../widgets/States";
import { DataTable } from "../../widgets/table/DataTable";
import { TableExport } from "../../widgets/Export";
import { Tabs } from "../../widgets/Tabs";
import { rowKey as keyOf, rowOf } from "../../widgets/op/named";
import { PageHead } from "../PageHead";
import type { PageProps } from "../pages";
import { Params, paramQuery } from "../Params";
import { RooflineChart } from "./Chart";
import type { Roof } from "./geometry";
import { roofOf, roofPoints } from "./geometry";

const COLOUR_BY = { bound: ["bound_by", "bound"], category: ["category", "op_category"] } as const;
type ColourBy = keyof typeof COLOUR_BY;

export function RooflinePage({ info }: PageProps) {
  const report = useReport("roofline", paramQuery(info));
  return (
    <>
      <PageHead info={info}>
        <Params info={info} />
        <label class="field">
          <span>colour</span>
          <select
            value={colourBy()}
            onChange={(event) =>
              go({ view: { colour: event.currentTarget.value === "bound" ? "" : event.currentTarget.value } }, "replace")
            }
          >
            <option value="bound">bound by</option>
            <option value="category">category</option>
          </select>
        </label>
      </PageHead>
      <Loaded from={report} what="the roofline">
        {(data) => <Roofline report={data} />}
      </Loaded>
    </>
  );
}

function rowKey(table: Table | null, row: number): string {
  return table === null ? "" : keyOf(table, table.rows[row]);
}

function roofNote({ peakFlopRate, peakByteRate }: Roof): string {
  if (peakFlopRate === null)
    return peakByteRate === null ? "no peaks are known: points only" : "no peak FLOP rate is known: the slope only";
  return peakByteRate === null ? "no peak HBM rate is known: the flat roof only" : "point area is self time";
}

function colourBy(): ColourBy {
  return view.value["colour"] === "category" ? "category" : "bound";
}

function Roofline({ report }: { readonly report: Report }) {
  const [picked, setPicked] = useState<number | null>(null);
  const [hovered, setHovered] = useState<number | null>(null);
  // The first view is the one with something on the chart: ops, where there are any.
  const plotted = report.tables.filter((table) => roofPoints(table, []).length > 0);
  const table =
    tableOf(report, view.value["table"] ?? "") ?? plotted.find((one) => one.id === "ops") ?? plotted[0] ?? report.tables[0] ?? null;
  const roof = roofOf(report);
  // A row is named in the address: rows change with the scope.
  const named = view.value["sel"] ?? "";
  const found = table === null ? -1 : rowOf(table, named);
  const selected = picked !== null && named !== "" && rowKey(table, picked) === named ? picked : found >= 0 ? found : null;
  const setSelected = (row: number | null): void => {
    setPicked(row);
    choose("sel", row === null || table === null ? "" : rowKey(table, row));
  };
  const values = Object.keys(report.values);
  return (
    <>
      <Findings report={report} />
      <ValueCards report={report} ids={values} />
      {table === null ? (
        <Lacking>Nothing to show under the roof in this scope.</Lacking>
      ) : (
        <>
          <Panel
            title="Roofline"
            note={roofNote(roof)}
            picture={`roofline-${table.id}`}
            actions={
              <Tabs
                label="Points show"
                tabs={report.tables.map((one) => ({ id: one.id, label: one.title || one.id }))}
                selected={table.id}
                onSelect={(id) => {
                  setPicked(null);
                  setHovered(null);
                  go({ view: { table: id, sel: "" } }, "replace");
                }}
              />
            }
          >
            <RooflineChart
              table={table}
              roof={roof}
              groupBy={COLOUR_BY[colourBy()]}
              groupName={colourBy() === "bound" ? "bound by" : "category"}
              selected={selected}
              hovered={hovered}
              onSelect={setSelected}
              onHover={setHovered}
            />
          </Panel>
          {selected !== null && <RowDetails table={table} row={selected} onClose={() => setSelected(null)} />}
          <Panel
            title={table.title || table.id}
            note="each row is a point: arrows and Enter select"
            flush
            actions={<TableExport table={table} name={`roofline-${table.id}`} />}
          >
            <DataTable
              key={table.id}
              table={table}
              sort={parseSort(view.value["sort"])}
              onSort={(key) => go({ view: { sort: key === null ? "" : formatSort(key) } }, "replace")}
              selected={selected}
              onSelect={setSelected}
              onHover={setHovered}
            />
          </Panel>
        </>
      )}
      {report.quality.length > 0 && <QualityList quality={report.quality} />}
      <ProvenanceFoot report={report} />
    </>
  );
}
