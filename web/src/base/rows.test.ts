import { describe, expect, it } from "vitest";

import type { Cell } from "./format";
import { filteredIndex, formatSort, parseSort, sortedIndex } from "./rows";

const rows: Cell[][] = [
  ["fusion.10", 5],
  ["fusion.9", null],
  ["copy.1", 7],
  ["all-reduce", 5],
];
const all = [0, 1, 2, 3];

describe("sorting", () => {
  it("puts the unknown last both ways and keeps ties in order", () => {
    expect(sortedIndex(rows, all, 1, true)).toEqual([2, 0, 3, 1]);
    expect(sortedIndex(rows, all, 1, false)).toEqual([0, 3, 2, 1]);
  });
  it("reads numbers inside names", () => {
    expect(sortedIndex(rows, all, 0, false)).toEqual([3, 2, 1, 0]);
  });
  it("round-trips through the URL", () => {
    expect(parseSort("-self_ps")).toEqual({ column: "self_ps", descending: true });
    expect(formatSort({ column: "op", descending: false })).toBe("op");
    expect(parseSort("")).toBeNull();
  });
});

describe("filtering", () => {
  it("wants every word and drops the excluded", () => {
    expect(filteredIndex(rows, [0], "fusion")).toEqual([0, 1]);
    expect(filteredIndex(rows, [0], "FUS 10")).toEqual([0]);
    expect(filteredIndex(rows, [0], "-fusion")).toEqual([2, 3]);
    expect(filteredIndex(rows, [0], " - ")).toEqual(all);
  });
});
