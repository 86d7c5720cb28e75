/** What the card of an op says of it, and where it leads: the same on every page that names an op. Pure. */

import { columnIndex, textAt } from "../../api/read";
import type { Column, Table } from "../../api/types";
import type { StepSpan } from "../../api/timeline";
import type { Cell } from "../../base/format";
import { placeOf } from "../../base/place";
import type { RouteChange } from "../../state/url";
import { rowKey } from "./named";

/** An op as pages name it; the module is empty where it is not known. */
export interface OpName {
  readonly name: string;
  readonly module: string;
  /** Said where a page shows more than one run: in which of them it is. */
  readonly where?: string;
}

/** A module without the program id, or the file, behind it. */
export function bareModule(module: string): string {
  return module.replace(/\(\d+\)$|@.*$/g, "").trim();
}

/** The op that a row of any table names; null where it names none, or several. */
export function opOfRow(table: Table, row: readonly Cell[] | undefined): OpName | null {
  // The tables of ops call it a name.
  const column = table.id === "ops" ? columnIndex(table, "op", "name") : columnIndex(table, "op");
  const name = column < 0 ? "" : (textAt(row, column) ?? "");
  if (name === "" || /[,;+\s]/.test(name)) return null;
  return { name, module: textAt(row, columnIndex(table, "module")) ?? "" };
}

/** The rows of the table of ops that an op may be: of its module where that is known, the one with most time first. */
export function rowsOfOp(table: Table, op: OpName): number[] {
  const [name, module] = [columnIndex(table, "name", "op"), columnIndex(table, "module")];
  const self = columnIndex(table, "self_ps");
  const named = table.rows.flatMap((row, i) => (textAt(row, name) === op.name ? [i] : []));
  const of = (same: (found: string) => boolean): number[] => named.filter((i) => same(textAt(table.rows[i], module) ?? ""));
  const exact = of((found) => found === op.module);
  const fitting = op.module === "" ? named : exact.length > 0 ? exact : of((found) => bareModule(found) === bareModule(op.module));
  return fitting.sort((a, b) => Number(table.rows[b]?.[self] ?? 0) - Number(table.rows[a]?.[self] ?? 0));
}

export interface Fact {
  readonly label: string;
  readonly column: Column;
  readonly cell: Cell;
}

/** What every card says, in this order: the column of the table of ops, and what it is called here. */
const FACTS: readonly (readonly [string, string])[] = [
  ["self_ps", "Total time"],
  ["self_share", "Share of all ops"],
  ["occurrences", "Executions"],
  ["average_ps", "Average"],
  ["category", "Category"],
  ["bound_by", "Bound by"],
  ["framework_op", "Scope"],
  ["source", "Source"],
  ["module", "Module"],
];

export function factsOf(table: Table, row: readonly Cell[] | undefined): Fact[] {
  return FACTS.flatMap(([id, label]) => {
    const at = columnIndex(table, id);
    const column = table.columns[at];
    return column === undefined ? [] : [{ label, column, cell: row?.[at] ?? null }];
  });
}

/** How near the op is to each limit of the device. */
export const LIMITS: readonly (readonly [string, string])[] = [
  ["flop_share_of_peak", "FLOP/s of peak"],
  ["hbm_share_of_peak", "HBM bandwidth, of peak"],
];

/** The step that stands for all: steady, and of the middle length; null where none is. */
export function usualStep(steps: readonly StepSpan[]): StepSpan | null {
  const steady = steps.filter((step) => step.class === "steady");
  const length = (step: StepSpan): number => step.end_ps - step.start_ps;
  return [...steady].sort((a, b) => length(a) - length(b))[Math.floor((steady.length - 1) / 2)] ?? null;
}

/** The op's self time in a step, on one of the devices that ran it; null where that is not known. */
export function timeOnDevice(table: Table, row: readonly Cell[] | undefined): number | null {
  const self = row?.[columnIndex(table, "self_ps")];
  const devices = row?.[columnIndex(table, "devices")];
  return typeof self === "number" && typeof devices === "number" && devices > 0 ? self / devices : null;
}

export interface Lead {
  readonly label: string;
  readonly what: string;
  readonly to: RouteChange;
}

/** The module as other pages ask for it: by name and program id, because programs share names. */
function moduleOf(table: Table, row: readonly Cell[] | undefined): string {
  const module = textAt(row, columnIndex(table, "module")) ?? "";
  const id = textAt(row, columnIndex(table, "program_id")) ?? "";
  return id === "" || module === "" || /\(\d+\)$/.test(module) ? module : `${module}(${id})`;
}

/** Where an op of the table of ops leads; `page` is the one that is shown, `others` whether there is another run. */
export function leadsOf(table: Table, row: readonly Cell[] | undefined, page: string, others: boolean): Lead[] {
  const name = textAt(row, columnIndex(table, "name", "op")) ?? "";
  const module = moduleOf(table, row);
  const place = placeOf(textAt(row, columnIndex(table, "source")) ?? "");
  const leads: Lead[] = [];
  if (page !== "ops")
    leads.push({ label: "Ops", what: "Its row in the table of ops", to: { page: "ops", view: { sel: rowKey(table, row) } } });
  if (module !== "") {
    leads.push({ label: "HLO", what: "The graph around it", to: { page: "hlo", view: { module, node: name } } });
    leads.push({ label: "Memory", what: "What it keeps in memory", to: { page: "memory", view: { module, buffer: name } } });
  }
  if (others && page !== "compare")
    leads.push({
      label: "Other run",
      what: "Its time in another run",
      to: { page: "compare", view: { q: name, sel: rowKey(table, row) } },
    });
  if (place !== null)
    leads.push({ label: "Source", what: "Its line of the program", to: { page: "source", view: { at: place.file, line: place.line } } });
  return leads;
}
