/** Reports for tests: whole ones, of which a test says what it is about. */

import type { Cell } from "../base/format";
import type { AnalysisInfo, Column, Finding, Kind, Link, Provenance, Quality, Report, ScopeSummary, Table, Value } from "./types";

/** Of everything. */
export const SCOPE: ScopeSummary = { hosts: [], devices: [], modules: [], steps: null, window_ps: null, steady: false, left_out: [] };
/** Of nothing in particular. */
export const PROVENANCE: Provenance = { files: [], hosts: [], coverage: { devices: 0, devices_in_profile: 0 }, peaks: [] };

export function report(about: Partial<Report> = {}): Report {
  return {
    analysis: "overview",
    version: 1,
    scope: SCOPE,
    provenance: PROVENANCE,
    quality: [],
    values: {},
    tables: [],
    trees: [],
    series: [],
    findings: [],
    texts: [],
    passed: null,
    gate: null,
    ...about,
  };
}

export function value(of: Cell, about: Partial<Value> = {}): Value {
  return { value: of, unit: "1", status: "derived", kind: "float", label: "", doc: "", ...about };
}

export function column(id: string, kind: Kind = "text", about: Partial<Column> = {}): Column {
  return { id, label: id, unit: "", kind, doc: "", ...about };
}

/** Columns by definition or by id: those are words. */
export function table(id: string, columns: readonly (string | Column)[], rows: Table["rows"], title = ""): Table {
  return { id, title, columns: columns.map((one) => (typeof one === "string" ? column(one) : one)), rows };
}

export function finding(id: string, about: Partial<Finding> = {}): Finding {
  return {
    id,
    severity: "info",
    claim: "",
    evidence: "",
    ceiling: "",
    speedup: null,
    explained_by: null,
    lever: "",
    falsifier: "",
    status: "derived",
    links: [],
    ...about,
  };
}

export function quality(id: string, about: Partial<Quality> = {}): Quality {
  return { id, severity: "info", message: "", cost: "", cure: "", ...about };
}

export function analysis(id: string, about: Partial<AnalysisInfo> = {}): AnalysisInfo {
  return {
    id,
    name: id,
    label: id,
    group: "start",
    family: null,
    others: null,
    takes_many: false,
    question: "",
    needs: [],
    params: [],
    ...about,
  };
}

export function link(analysis: string, about: Partial<Link> = {}): Link {
  return { analysis, params: [], table: "", row: null, devices: [], steps: null, window_ps: null, ...about };
}
