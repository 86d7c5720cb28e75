import { columnIndex, numberAt, tableOf, textAt } from "../../api/read";
import type { AnalysisInfo, Report, Table } from "../../api/types";
import { formatBytes } from "../../base/format";
import { view } from "../../state/route";
import { useReport } from "../../state/resource";
import { Panel } from "../../widgets/Panel";
import { Findings, Mark, ProvenanceFoot, QualityList, ValueCards } from "../../widgets/Report";
import { Loaded } from "../../widgets/States";
import { TablePanel } from "../../widgets/table/TablePanel";
import { Words } from "../../widgets/Words";
import { taken } from "../ask";
import { BufferPanel } from "./BufferPanel";
import { PartsPanel } from "./PartsPanel";

/** Whose the bytes at the peak are, for this program and on every worker. */
export function AttributeTab({ info }: { readonly info: AnalysisInfo }) {
  const report = useReport(info.id, taken(info, view.value));
  return (
    <Loaded from={report} what="what the memory is for">
      {(data) => <Attribute report={data} name={info.id} />}
    </Loaded>
  );
}

/** Tables that are shown in a form of their own. */
const OWN = new Set(["identities", "buffers"]);

function Attribute({ report, name }: { readonly report: Report; readonly name: string }) {
  const identities = tableOf(report, "identities");
  const buffers = tableOf(report, "buffers");
  return (
    <>
      <Findings report={report} />
      <ValueCards report={report} />
      {identities !== null && <Identities table={identities} />}
      {buffers !== null && <PartsPanel tables={[buffers]} first="bucket" name={name} />}
      {report.tables
        .filter((table) => !OWN.has(table.id))
        .map((table) =>
          table.id === "parameters" ? (
            <BufferPanel key={table.id} table={table} name={name} />
          ) : (
            <TablePanel key={table.id} table={table} name={name} />
          ),
        )}
      {report.quality.length > 0 && <QualityList quality={report.quality} />}
      <ProvenanceFoot report={report} />
    </>
  );
}

/** Each sum with a tick or a cross, and both sides. */
export function Identities({ table }: { readonly table: Table }) {
  const what = columnIndex(table, "what", "identity");
  const holds = columnIndex(table, "holds");
  const left = columnIndex(table, "left_bytes", "parts_bytes");
  const right = columnIndex(table, "right_bytes", "whole_bytes");
  const off = columnIndex(table, "difference_bytes");
  return (
    <Panel title={table.title || "Sums that must agree"}>
      <ul class="identities">
        {table.rows.map((row) => {
          const held = row[holds];
          const [a, b, d] = [numberAt(row, left), numberAt(row, right), numberAt(row, off)];
          return (
            <li>
              <Mark holds={typeof held === "boolean" ? held : null} />
              <span>
                <Words text={textAt(row, what) ?? ""} />
                {a !== null && b !== null && (
                  <span class="sub">{` · ${formatBytes(a)} and ${formatBytes(b)}${d === null || d === 0 ? "" : `, ${formatBytes(Math.abs(d))} apart`}`}</span>
                )}
              </span>
            </li>
          );
        })}
      </ul>
    </Panel>
  );
}
