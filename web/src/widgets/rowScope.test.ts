import { expect, it } from "vitest";

import type { Column, Table } from "../api/types";
import { rowActions } from "./rowScope";

const table = (id: string, columns: string[], row: Table["rows"][number]): Table => ({
  id,
  title: "",
  columns: columns.map((one): Column => ({ id: one, label: one, unit: "", kind: "text", doc: "" })),
  rows: [row],
});

it("makes scopes of what a row names", () => {
  const steps = table("devices", ["step", "device", "duration_ps", "start_ps"], [3, "w/TPU:0", 100, 1000]);
  expect(rowActions(steps, 0).map((one) => one.to)).toEqual([
    { scope: { steps: "3" } },
    { scope: { devices: "w/TPU:0" } },
    { page: "timeline", view: { view: "995..1105" } },
  ]);
  expect(rowActions(table("programs", ["name"], ["jit_f(7)"]), 0)).toEqual([
    { label: "Only this program", to: { scope: { modules: "jit_f" } } },
  ]);
  expect(rowActions(table("gaps", ["start_ps", "end_ps"], [1000, 1100]), 0).map((one) => one.label)).toEqual([
    "Show on the timeline",
    "Only this time",
  ]);
  expect(rowActions(table("sql", ["start_ps", "dur_ps"], [1000, 100]), 0)[0]?.to).toEqual({
    page: "timeline",
    view: { view: "995..1105" },
  });
  // Sums over all steps are no step, and unknown is nothing.
  expect(rowActions(table("steps", ["step", "device", "start_ps"], ["total", null, null]), 0)).toEqual([]);
  expect(rowActions(steps, 9)).toEqual([]);
});
