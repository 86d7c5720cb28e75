/** The points of the step chart: times by device where the report has them, classes from the table of steps. Pure. */

import { columnIndex, numberAt, tableOf, textAt } from "../../api/read";
import type { Report, Table } from "../../api/types";
import type { StepPoint } from "../../widgets/chart/steps";

interface Known {
  readonly row: number;
  readonly kind: string;
}

export function stepPoints(report: Report): StepPoint[] {
  const steps = tableOf(report, "steps");
  if (steps === null) return [];
  const step = columnIndex(steps, "step");
  const kind = columnIndex(steps, "class");
  const known = new Map<number, Known>();
  steps.rows.forEach((row, i) => {
    const number = numberAt(row, step);
    if (number !== null) known.set(number, { row: i, kind: textAt(row, kind) ?? "" });
  });
  const byDevice = tableOf(report, "devices");
  const source = byDevice !== null && byDevice.rows.length > 0 && columnIndex(byDevice, "duration_ps") >= 0 ? byDevice : steps;
  return pointsOf(source, known);
}

function pointsOf(table: Table, known: ReadonlyMap<number, Known>): StepPoint[] {
  const step = columnIndex(table, "step");
  const device = columnIndex(table, "device");
  const duration = columnIndex(table, "duration_ps");
  return table.rows.flatMap((row) => {
    const number = numberAt(row, step);
    const durationPs = numberAt(row, duration);
    const about = number === null ? undefined : known.get(number);
    if (number === null || durationPs === null || about === undefined) return [];
    return [{ step: number, device: textAt(row, device) ?? "", durationPs, kind: about.kind, row: about.row }];
  });
}
