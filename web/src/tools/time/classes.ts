/** The classes of an account of time: which columns hold them, what they are called, what colour they have. Pure. */

import { columnIndex, numberAt } from "../../api/read";
import type { Table } from "../../api/types";
import type { Cell } from "../../base/format";

export interface TimeClass {
  /** The column that holds it. */
  readonly id: string;
  readonly name: string;
  readonly colour: string;
  readonly group: "idle" | "waiting" | "working";
}

/** From what a device is for to what lies outside of the program: bars are stacked in this order. */
export const CLASSES: readonly TimeClass[] = [
  { id: "compute_ps", name: "compute", colour: "var(--series-1)", group: "working" },
  { id: "copy_ps", name: "copies and layout changes", colour: "var(--series-0)", group: "working" },
  { id: "overhead_ps", name: "programs' own overhead", colour: "var(--series-7)", group: "working" },
  { id: "communication_ps", name: "exposed communication", colour: "var(--series-2)", group: "waiting" },
  { id: "async_wait_ps", name: "waits for asynchronous copies", colour: "var(--series-6)", group: "waiting" },
  { id: "host_transfer_ps", name: "transfers to and from the host", colour: "var(--series-3)", group: "waiting" },
  { id: "infeed_ps", name: "infeed and outfeed", colour: "var(--series-5)", group: "waiting" },
  { id: "inside_ps", name: "idle inside programs", colour: "var(--idle-1)", group: "idle" },
  { id: "input_ps", name: "idle while the host prepares input", colour: "var(--series-4)", group: "idle" },
  { id: "between_ps", name: "between programs", colour: "var(--idle-2)", group: "idle" },
  { id: "before_ps", name: "before the first op", colour: "var(--idle-0)", group: "idle" },
  { id: "after_ps", name: "after the last op", colour: "var(--idle-3)", group: "idle" },
];

const BY_NAME = new Map(CLASSES.map((one) => [one.name, one]));

/** The class with this name, as the waterfall's rows are called. */
export function classOf(name: string): TimeClass | null {
  return BY_NAME.get(name) ?? null;
}

export interface Part {
  readonly of: TimeClass;
  readonly ps: number;
}

/** The classes of a row that have any time. */
export function partsOf(table: Table, row: readonly Cell[] | undefined): Part[] {
  return CLASSES.flatMap((of) => {
    const ps = numberAt(row, columnIndex(table, of.id));
    return ps === null || ps <= 0 ? [] : [{ of, ps }];
  });
}
