import { expect, it } from "vitest";

import { PROVENANCE, SCOPE } from "../../api/made.testdata";
import type { Column, Report, Value } from "../../api/types";
import { waterfall } from "./waterfall";

const value = (ps: number | null): Value => ({ value: ps, unit: "ps", kind: "duration_ps", status: "measured", label: "", doc: "" });
const report = (capture: number | null, busy: number | null, rows: [string, number | null][]): Report => ({
  analysis: "overview",
  version: 1,
  scope: SCOPE,
  provenance: PROVENANCE,
  quality: [],
  values: { capture_span_ps: value(capture), device_busy_ps: value(busy) },
  tables: [
    {
      id: "idle",
      title: "",
      columns: ["where", "time_ps"].map((id): Column => ({ id, label: id, unit: "", kind: "text", doc: "" })),
      rows,
    },
  ],
  trees: [],
  series: [],
  findings: [],
  texts: [],
  passed: null,
  gate: null,
});

it("falls from the capture to the busy time", () => {
  const falls = waterfall(
    report(100, 60, [
      ["before", 30],
      ["between steps", 0],
      ["inside", 10],
    ]),
  );
  expect(falls?.map((one) => [one.name, one.from, one.to])).toEqual([
    ["captured", 0, 1],
    ["idle before", 0.7, 1],
    ["idle inside", 0.6, 0.7],
    ["ops run", 0, 0.6],
  ]);
});

it("is none where the parts are unknown or not the whole", () => {
  expect(waterfall(report(null, 60, []))).toBeNull();
  expect(waterfall(report(100, 60, [["before", null]]))).toBeNull();
  expect(waterfall(report(100, 60, [["before", 10]]))).toBeNull();
});
