import { expect, it } from "vitest";

import { tableWith } from "./made.testdata";
import { durationChange, shareChange, signed } from "./quantity";

it("puts a sign before a change, and none before no change", () => {
  expect(durationChange(2.6e9)).toBe("+2.600 ms");
  expect(durationChange(-2.6e9)).toBe("−2.600 ms");
  expect(durationChange(0)).toBe("0 s");
  expect([0.082, -0.024, 0.0002, 0].map(shareChange)).toEqual(["+8.2%", "−2.4%", "<0.1%", "0.0%"]);
});

it("puts signs into a table of metrics and leaves the rest as it is", () => {
  const table = tableWith(
    "metrics",
    ["metric", "delta_share"],
    [
      ["step", 0.1],
      ["compile", null],
    ],
  );
  const shares = { ...table, columns: table.columns.map((column) => ({ ...column, kind: column.id === "metric" ? "text" : "share" })) };
  expect(signed(shares)?.rows).toEqual([
    ["step", "+10.0%"],
    ["compile", null],
  ]);
  expect(signed(table)).toBe(table);
  expect(signed(null)).toBeNull();
});
