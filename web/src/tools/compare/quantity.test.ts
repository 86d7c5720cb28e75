import { expect, it } from "vitest";

import { tableWith } from "./made.testdata";
import { durationChange, readable, shareChange } from "./quantity";

it("puts a sign before a change, and none before no change", () => {
  expect(durationChange(2.6e9)).toBe("+2.600 ms");
  expect(durationChange(-2.6e9)).toBe("−2.600 ms");
  expect(durationChange(0)).toBe("0 s");
  expect([0.082, -0.024, 0.0002, 0].map(shareChange)).toEqual(["+8.2%", "−2.4%", "<0.1%", "0.0%"]);
});

it("puts a metric's change and its share into one cell, and nothing between words", () => {
  const table = tableWith(
    "metrics",
    ["metric", "unit", "baseline", "delta", "delta_share"],
    [
      ["step", "ps", 1e9, 1e8, 0.1],
      ["MFU", "share", 0.4, -0.02, null],
      ["compile", "ps", null, null, null],
      ["top op", "", "fusion.1", null, null],
    ],
  );
  const kinds = ["text", "text", "quantity", "change", "share"] as const;
  const metrics = { ...table, columns: table.columns.map((column, i) => ({ ...column, kind: kinds[i] ?? "text" })) };
  expect(readable(metrics)?.rows.map((row) => row[3])).toEqual(["+100.0 µs (+10.0%)", "−2.000 points", null, ""]);
  expect(readable(null)).toBeNull();
});
