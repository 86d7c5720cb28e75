import { expect, it } from "vitest";

import { PROVENANCE, SCOPE } from "../api/made.testdata";
import type { Column, Report } from "../api/types";
import { deviceItems, hostItems, moduleItems, stepItems } from "./choices";

const column = (id: string): Column => ({ id, label: id, unit: "", kind: "text", doc: "" });
const report = (tables: Report["tables"], devices: string[] = []): Report => ({
  analysis: "",
  version: 1,
  scope: { ...SCOPE, devices },
  provenance: { ...PROVENANCE, hosts: ["a", "b"] },
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

it("lists what the run has, each once", () => {
  const inspect = report(
    [
      {
        id: "modules",
        title: "",
        columns: ["module", "host"].map(column),
        rows: [
          ["jit_f", "a"],
          ["jit_f", "b"],
          ["a,b", "a"],
          ["jit_g", "a"],
        ],
      },
    ],
    ["a/TPU:0"],
  );
  expect(moduleItems(inspect)).toEqual([{ value: "jit_f" }, { value: "jit_g" }]);
  expect(deviceItems(inspect)).toEqual([{ value: "a/TPU:0" }]);
  expect(hostItems(null, ["x"])).toEqual([{ value: "x" }]);
  expect(hostItems(inspect, ["x"]).map((item) => item.value)).toEqual(["a", "b"]);
});

it("says of a step what it is and how long it took", () => {
  const steps = report([
    {
      id: "steps",
      title: "",
      columns: ["step", "class", "duration_ps"].map(column),
      rows: [
        [0, "warm-up", 3e9],
        [1, null, null],
      ],
    },
  ]);
  expect(stepItems(steps)).toEqual([{ value: "0", note: "warm-up, 3.00 ms" }, { value: "1" }]);
  expect(stepItems(null)).toEqual([]);
});
