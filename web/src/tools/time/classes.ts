/** What the classes of an account of time look like, and the parts of a row that has them. The classes are the server's. Pure. */

import { TIME_CLASSES } from "../../api/generated";
import { columnIndex, numberAt } from "../../api/read";
import { shadeVar } from "../../base/meaning";
import type { Table } from "../../api/types";
import type { Cell } from "../../base/format";

export type TimeClass = (typeof TIME_CLASSES)[number] & { readonly colour: string };

/** A colour for each class: one without is an error of types. */
const COLOURS: Readonly<Record<(typeof TIME_CLASSES)[number]["id"], string>> = {
  compute_ps: "var(--m-compute)",
  copy_ps: "var(--m-copy)",
  overhead_ps: "var(--m-other)",
  communication_ps: "var(--m-collective)",
  async_wait_ps: shadeVar("copy", 2),
  host_transfer_ps: "var(--m-transfer)",
  infeed_ps: shadeVar("transfer", 2),
  inside_ps: "var(--idle-1)",
  input_ps: "var(--m-host)",
  between_ps: "var(--idle-2)",
  before_ps: "var(--idle-0)",
  after_ps: "var(--idle-3)",
};

/** In the order in which bars stack them. */
export const CLASSES: readonly TimeClass[] = TIME_CLASSES.map((one) => ({ ...one, colour: COLOURS[one.id] }));

const BY_NAME = new Map<string, TimeClass>(CLASSES.map((one) => [one.name, one]));

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
