import { expect, it } from "vitest";

import { PROVENANCE, SCOPE } from "../../api/made.testdata";
import type { Column, Report, Table } from "../../api/types";
import { stepPoints } from "./points";

const column = (id: string): Column => ({ id, label: id, unit: "", kind: "int", doc: "" });
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
  scope: SCOPE,
  provenance: PROVENANCE,
  quality: [],
  values: {},
  tables,
  trees: [],
  series: [],
  findings: [],
  texts: [],
  passed: null,
  gate: null,
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
