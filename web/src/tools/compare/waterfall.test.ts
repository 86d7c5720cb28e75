import { expect, it } from "vitest";

import { tableWith } from "./made.testdata";
import { kindName, place, waterfall } from "./waterfall";

const table = tableWith(
  "waterfall",
  ["kind", "delta_ps", "share", "ops", "largest"],
  [
    ["new", 30, 0.03, 2, "copy.1"],
    ["gone", -10, -0.01, 1, ""],
    ["work", 0, 0, 0, ""],
    ["rest", null, null, null, ""],
    ["efficiency", 80, 0.08, 4, ""],
  ],
);
const means = { baseline: 1000, experiment: 1100 };

it("goes from the baseline to the experiment without a gap", () => {
  const all = waterfall(table, means);
  expect(all?.falls.map((fall) => [fall.kind, fall.turn, fall.from, fall.to])).toEqual([
    ["", "total", 0, 1000],
    ["new", "more", 1000, 1030],
    ["gone", "less", 1020, 1030],
    ["work", "none", 1020, 1020],
    ["efficiency", "more", 1020, 1100],
    ["", "total", 0, 1100],
  ]);
  expect(all?.sum).toBe(100);
});

it("begins the axis near the bars where these would not be seen from 0, and at 0 where they are", () => {
  const near = waterfall(table, means);
  expect(near?.start).toBe(975);
  expect(near?.end).toBeGreaterThan(1100);
  const far = waterfall(tableWith("waterfall", ["kind", "delta_ps"], [["gone", -900]]), { baseline: 1000, experiment: 100 });
  expect(far?.start).toBe(0);
});

it("places every bar inside its track", () => {
  const all = waterfall(table, means);
  if (all === null) throw new Error("no waterfall");
  for (const fall of all.falls) {
    const { left, width } = place(fall, all);
    expect(left).toBeGreaterThanOrEqual(0);
    expect(left + width).toBeLessThanOrEqual(1);
  }
  const [first, second] = all.falls.map((fall) => place(fall, all));
  expect((first?.left ?? 0) + (first?.width ?? 0)).toBeCloseTo(second?.left ?? -1);
});

it("is nothing without step times", () => {
  expect(waterfall(table, null)).toBeNull();
  expect(waterfall(null, means)).toBeNull();
  expect(kindName("something else")).toBe("Something else");
});
