import { describe, expect, it } from "vitest";

import type { Picked } from "../../widgets/timeline/picks";
import { chosenTable, sumsOf } from "./chosen";

const slice = (start: number, duration: number, track = 1): Picked => ({
  track,
  start,
  duration,
  depth: 0,
  name: `e${start}`,
  event: start,
  count: 1,
  className: "",
});

describe("events that were picked together", () => {
  it("are summed, with time that two of them share once in what they cover", () => {
    expect(sumsOf([slice(100, 20), slice(10, 30), slice(30, 20)])).toEqual({ events: 3, total: 70, start: 10, end: 120, covered: 60 });
    expect(sumsOf([])).toEqual({ events: 0, total: 0, start: 0, end: 0, covered: 0 });
  });
  it("say how long after the first each starts", () => {
    const table = chosenTable([slice(100, 20), slice(10, 30)], []);
    expect(table.rows.map((row) => row.slice(0, 4))).toEqual([
      ["e100", 20, 100, 90],
      ["e10", 30, 10, 0],
    ]);
  });
});
