import { expect, it } from "vitest";

import { PROVENANCE, SCOPE } from "../../api/made.testdata";
import type { Column, Kind, Report, Value } from "../../api/types";
import { sideBySide } from "./sideBySide";

const empty: Report = {
  analysis: "overview",
  version: 1,
  scope: SCOPE,
  provenance: PROVENANCE,
  quality: [],
  values: {},
  tables: [],
  trees: [],
  series: [],
  findings: [],
  texts: [],
  passed: null,
  gate: null,
};
const column = (id: string, kind: Kind): Column => ({ id, label: id, unit: "1", kind, doc: "" });

it("sets rates and idle shares side by side", () => {
  const value = (v: number | null): Value => ({ value: v, unit: "1", kind: "share", status: "derived", label: "", doc: "" });
  const report: Report = {
    ...empty,
    values: {
      idle_share_of_capture: value(0.98),
      idle_share_of_active_window: value(null),
      capture_span_ps: value(100),
      active_window_ps: value(5),
    },
    tables: [
      {
        id: "rates",
        title: "",
        columns: [column("over", "text"), column("time_ps", "duration_ps"), column("flop_rate", "rate")],
        rows: [
          ["active window (first op to last)", 5, 9],
          ["whole capture", 100, null],
        ],
      },
    ],
  };
  const sides = sideBySide(report);
  expect(sides?.heads).toEqual(["active window (first op to last)", "whole capture"]);
  expect(sides?.lines.map((line) => [line.column.id, ...line.cells])).toEqual([
    ["time_ps", 5, 100],
    ["idle_share", null, 0.98],
    ["flop_rate", 9, null],
  ]);
});

it("is nothing without rates", () => {
  expect(sideBySide(empty)).toBeNull();
});
