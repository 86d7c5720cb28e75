import { expect, it } from "vitest";

import type { Report, Table } from "../../api/types";
import { stepStack } from "./classes";

const table = (id: string, columns: string[], rows: Table["rows"]): Table => ({
  id,
  title: "",
  columns: columns.map((one) => ({ id: one, label: one, unit: "", kind: one.endsWith("_ps") ? "duration_ps" : "text" })),
  rows,
});
const report = (tables: Table[]): Report => ({
  analysis: "steps",
  version: 1,
  scope: {},
  provenance: {},
  quality: [],
  values: {},
  tables,
  trees: [],
  series: [],
  findings: [],
});
const steps = table("steps", ["step"], [[4], [5]]);
const devices = table(
  "devices",
  ["step", "device", "duration_ps", "busy_ps"],
  [
    [4, "a", 100, 80],
    [4, "b", 120, 120],
    [5, "a", 100, null],
    [9, "a", 100, 100],
  ],
);

it("shows busy and idle where that is all there is", () => {
  expect(stepStack(report([steps, devices]))).toMatchObject({ bars: [{ at: 4, values: [100, 10], row: 0 }], note: "mean over devices" });
  expect(stepStack(report([steps]))).toBeNull();
});

it("takes the report's classes before", () => {
  const classes = table("classes", ["step", "device", "time_ps", "compute_ps", "between_ps"], [[5, "b", 100, 90, 10]]);
  const stack = stepStack(report([steps, classes, devices]));
  expect(stack?.bars).toEqual([{ at: 5, note: "b", values: [90, 10], row: 1 }]);
  expect(stack?.parts.map((part) => part.name)).toEqual(["compute_ps", "between_ps"]);
});
