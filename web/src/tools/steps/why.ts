/** Why a step took longer or shorter than the usual one: its classes of time and its ops, each against that step's. Pure. */

import { columnIndex, numberAt, textAt } from "../../api/read";
import type { Column, Report, Table } from "../../api/types";
import { tableOf } from "../../api/read";
import { timeOnDevice } from "../../widgets/op/card";
import { rowKey } from "../../widgets/op/named";
import type { TimeClass } from "../time/classes";
import { CLASSES } from "../time/classes";

export interface StepLength {
  readonly number: number;
  readonly ps: number;
}

function lengthsOf(report: Report): (StepLength & { readonly kind: string })[] {
  const table = tableOf(report, "steps");
  if (table === null) return [];
  const [step, kind, length] = ["step", "class", "duration_ps"].map((id) => columnIndex(table, id));
  return table.rows.flatMap((row) => {
    const [number, ps] = [numberAt(row, step ?? -1), numberAt(row, length ?? -1)];
    return number === null || ps === null ? [] : [{ number, ps, kind: textAt(row, kind ?? -1) ?? "" }];
  });
}

/** A step of the report; null where it has none of this number. */
export function stepOf(report: Report, number: number): StepLength | null {
  return lengthsOf(report).find((step) => step.number === number) ?? null;
}

/** The steady step of middle length but for `number` itself; null where there is no other. */
export function usualOf(report: Report, number: number): StepLength | null {
  const steady = lengthsOf(report).filter((step) => step.kind === "steady" && step.number !== number);
  return steady.sort((a, b) => a.ps - b.ps)[Math.floor((steady.length - 1) / 2)] ?? null;
}

export interface ClassChange {
  readonly of: TimeClass;
  /** More in the step than in the usual one. */
  readonly ps: number;
}

/** What each class of time has more or less than in the usual step, the largest first. Those that are the same are left out. */
export function classChanges(report: Report, step: number, usual: number): ClassChange[] {
  const table = tableOf(report, "classes");
  if (table === null) return [];
  const at = columnIndex(table, "step");
  const rowFor = (number: number): Table["rows"][number] | undefined => table.rows.find((row) => numberAt(row, at) === number);
  const [own, other] = [rowFor(step), rowFor(usual)];
  if (own === undefined || other === undefined) return [];
  const changes = CLASSES.flatMap((of): ClassChange[] => {
    const column = columnIndex(table, of.id);
    const [now, then] = [numberAt(own, column), numberAt(other, column)];
    return now === null || then === null || now === then ? [] : [{ of, ps: now - then }];
  });
  return changes.sort((a, b) => Math.abs(b.ps) - Math.abs(a.ps));
}

export interface OpChange {
  readonly name: string;
  readonly module: string;
  readonly category: string;
  /** Self time on one device; null where the step did not run it. */
  readonly ps: number | null;
  readonly usualPs: number | null;
}

/** Each op of both steps; what grew most comes first, what shrank most last. Ops of unknown time are left out. */
export function opChanges(own: Report, usual: Report): OpChange[] {
  const [table, other] = [tableOf(own, "ops"), tableOf(usual, "ops")];
  if (table === null || other === null) return [];
  const found = new Map<string, OpChange>();
  const read = (from: Table, isOwn: boolean): void => {
    for (const row of from.rows) {
      const ps = timeOnDevice(from, row);
      if (ps === null) continue;
      const text = (id: string): string => textAt(row, columnIndex(from, id)) ?? "";
      const key = rowKey(from, row);
      const known = found.get(key) ?? { name: text("name"), module: text("module"), category: text("category"), ps: null, usualPs: null };
      found.set(key, isOwn ? { ...known, ps: (known.ps ?? 0) + ps } : { ...known, usualPs: (known.usualPs ?? 0) + ps });
    }
  };
  read(table, true);
  read(other, false);
  return [...found.values()].sort((a, b) => growth(b) - growth(a) || (a.name < b.name ? -1 : 1));
}

export function growth(op: OpChange): number {
  return (op.ps ?? 0) - (op.usualPs ?? 0);
}

/** How the ops of the step stand to those of the usual one: few of them slower, or all of them alike. */
export interface Spread {
  /** The op in the middle, by time: its time over that in the usual step. */
  readonly middle: number;
  /** The middle half lies between these. */
  readonly low: number;
  readonly high: number;
}

/** Quartiles of the ratios of the ops that both steps ran, weighed by their time; null where there are too few to say. */
export function spreadOf(ops: readonly OpChange[]): Spread | null {
  const ratios = ops
    .flatMap((op) => (op.ps === null || op.usualPs === null || op.usualPs <= 0 ? [] : [{ ratio: op.ps / op.usualPs, weight: op.usualPs }]))
    .sort((a, b) => a.ratio - b.ratio);
  if (ratios.length < 8) return null;
  const total = ratios.reduce((sum, one) => sum + one.weight, 0);
  const at = (share: number): number => {
    let seen = 0;
    return ratios.find((one) => (seen += one.weight) >= share * total)?.ratio ?? 1;
  };
  return { middle: at(0.5), low: at(0.25), high: at(0.75) };
}

/** All ops are slower alike, as under a lower clock: the middle half moved by the same part, and by more than noise. */
export function isAlike(spread: Spread): boolean {
  const moved = Math.abs(spread.middle - 1);
  return moved >= 0.02 && spread.high - spread.low <= moved;
}

const column = (id: string, label: string, kind: Column["kind"], doc: string): Column => ({
  id,
  label,
  unit: kind === "duration_ps" ? "ps" : "",
  kind,
  doc,
});

/** The ops that changed most, as a table: at most `most` that grew and that shrank. */
export function changesTable(ops: readonly OpChange[], step: number, usual: number, most: number): Table {
  const grown = ops.filter((op) => growth(op) > 0).slice(0, most);
  const shrunk = ops.filter((op) => growth(op) < 0).slice(-most);
  return {
    id: "step_ops",
    title: `Ops of step ${step} against step ${usual}`,
    columns: [
      column("op", "Op", "text", "The op."),
      column(
        "delta_ps",
        "Difference",
        "duration_ps",
        `Self time in step ${step} minus that in step ${usual}, on one of the devices that ran it.`,
      ),
      column("step_ps", `Step ${step}`, "duration_ps", "Self time in this step, on one of the devices that ran it."),
      column("usual_ps", `Step ${usual}`, "duration_ps", "The same in the usual step."),
      column("category", "Category", "text", "The HLO category."),
      column("module", "Module", "text", "The HLO module."),
    ],
    rows: [...grown, ...shrunk].map((op) => [op.name, growth(op), op.ps, op.usualPs, op.category, op.module]),
  };
}
