import { describe, expect, it } from "vitest";

import type { Column, Table } from "../../api/types";
import { lengthBars, placeOf } from "./histogram";

const column = (id: string): Column => ({ id, label: id, unit: "", kind: "int", doc: "" });
const table: Table = {
  id: "durations",
  title: "",
  columns: ["from_ps", "to_ps", "occurrences", "total_ps"].map(column),
  rows: [
    [1_000_000, 2_000_000, 3, 4_000_000],
    [2_000_000, 5_000_000, 0, 0],
  ],
};

describe("lengthBars", () => {
  it("names classes by their bounds", () => {
    expect(lengthBars(table).map((bar) => [bar.label, bar.count])).toEqual([
      ["1 µs to 2 µs", 3],
      ["2 µs to 5 µs", 0],
    ]);
    expect(lengthBars(null)).toEqual([]);
  });
  it("places a length in its class", () => {
    expect(placeOf(lengthBars(table), 3_500_000)).toBe(1.5);
    expect(placeOf(lengthBars(table), 9_000_000)).toBeNull();
  });
});
