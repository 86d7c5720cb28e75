/** The table of ops with what each takes in single steps. Pure. */

import { columnIndex } from "../../api/read";
import type { StepSpan } from "../../api/timeline";
import type { Table } from "../../api/types";
import { timeOnDevice, usualStep } from "../../widgets/op/card";
import { rowKey } from "../../widgets/op/named";

const lengthOf = (step: StepSpan): number => step.end_ps - step.start_ps;

export interface Shown {
  /** The steady step of middle length. */
  readonly usual: StepSpan;
  /** The longest that is no warm-up and not cut; null where that is the usual one. */
  readonly longest: StepSpan | null;
}

/** The steps that the table shows; null where none is known to be steady. */
export function stepsShown(steps: readonly StepSpan[]): Shown | null {
  const usual = usualStep(steps);
  if (usual === null) return null;
  const whole = steps.filter((step) => step.class === "steady" || step.class === "outlier");
  const longest = [...whole].sort((a, b) => lengthOf(b) - lengthOf(a))[0] ?? usual;
  return { usual, longest: longest.number === usual.number ? null : longest };
}

/** A step and the ops of it alone. */
export interface StepOps {
  readonly number: number;
  readonly what: string;
  readonly ops: Table;
}

/** The table with a column a step behind the share: self time there, on one of the devices that ran the op. */
export function withSteps(table: Table, steps: readonly StepOps[]): Table {
  if (steps.length === 0) return table;
  const times = steps.map(({ ops }) => new Map(ops.rows.map((row) => [rowKey(ops, row), timeOnDevice(ops, row)])));
  const share = columnIndex(table, "self_share");
  const at = (share < 0 ? columnIndex(table, "self_ps") : share) + 1;
  const columns = steps.map(({ number, what }) => ({
    id: `step_${number}_ps`,
    label: `Step ${number}`,
    unit: "ps",
    kind: "duration_ps" as const,
    doc: `Self time in step ${number} (${what}), on one of the devices that ran the op.`,
  }));
  return {
    ...table,
    columns: [...table.columns.slice(0, at), ...columns, ...table.columns.slice(at)],
    rows: table.rows.map((row) => {
      const key = rowKey(table, row);
      return [...row.slice(0, at), ...times.map((of) => of.get(key) ?? null), ...row.slice(at)];
    }),
  };
}
