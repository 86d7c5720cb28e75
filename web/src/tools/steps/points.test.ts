import { expect, it } from "vitest";

import type { Report, Table } from "../../api/types";
import { stepPoints } from "./points";

const column = (id: string) => ({ id, label: id, unit: "", kind: "int" });
const steps: Table = {
  id: "steps",
  title: "Steps",
  columns: ["step", "class", "duration_ps"].map(column),
  rows: [
    [7, "warm-up", 12],
    [8, "steady", 10],
  ],
};
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

it("takes times by device and classes by step", () => {
  const devices: Table = {
    id: "devices",
    title: "",
    columns: ["step", "device", "duration_ps"].map(column),
    rows: [
      [7, "TPU:0", 11],
      [7, "TPU:1", 12],
      [8, "TPU:0", null],
      [9, "TPU:0", 10],
    ],
  };
  expect(stepPoints(report([steps, devices])).map((p) => [p.step, p.device, p.durationPs, p.kind, p.row])).toEqual([
    [7, "TPU:0", 11, "warm-up", 0],
    [7, "TPU:1", 12, "warm-up", 0],
  ]);
});

it("makes do with the table of steps, or with nothing", () => {
  expect(stepPoints(report([steps])).map((p) => [p.step, p.durationPs])).toEqual([
    [7, 12],
    [8, 10],
  ]);
  expect(stepPoints(report([]))).toEqual([]);
});
