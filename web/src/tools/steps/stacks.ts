/** The stacks of the step chart: a step's time by class. Pure. */

import { columnIndex, textAt } from "../../api/read";
import type { Table } from "../../api/types";
import type { Stack } from "../../widgets/chart/stack";
import { partsOf } from "../time/classes";

export function stepStacks(table: Table | null): Stack[] {
  if (table === null) return [];
  const step = columnIndex(table, "step");
  return table.rows.map((row) => ({
    label: textAt(row, step) ?? "",
    parts: partsOf(table, row).map((part) => ({ name: part.of.name, value: part.ps, colour: part.of.colour })),
  }));
}
