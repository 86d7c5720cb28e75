/** Reports for tests. */

import { PROVENANCE, SCOPE } from "../../api/made.testdata";
import type { Column, Report, Table, Value } from "../../api/types";
import type { Cell } from "../../base/format";

export function made(values: Readonly<Record<string, Cell>>, tables: readonly Table[] = []): Report {
  const value = (cell: Cell): Value => ({
    value: cell,
    unit: "",
    kind: "text",
    status: cell === null ? "unknown" : "derived",
    label: "",
    doc: "",
  });
  return {
    analysis: "compare",
    version: 1,
    scope: SCOPE,
    provenance: PROVENANCE,
    quality: [],
    values: Object.fromEntries(Object.entries(values).map(([id, cell]) => [id, value(cell)])),
    tables,
    trees: [],
    series: [],
    findings: [],
    texts: [],
    passed: null,
    gate: null,
  };
}

/** A table of the report: columns by their ids. */
export function tableWith(id: string, columns: readonly string[], rows: readonly (readonly Cell[])[]): Table {
  return { id, title: id, columns: columns.map((one): Column => ({ id: one, label: one, unit: "", kind: "text", doc: "" })), rows };
}
