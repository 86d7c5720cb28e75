import { describe, expect, it } from "vitest";

import { folded } from "./fold";
import type { Line } from "./lines";

const line = (number: number, timed: boolean): Line => ({ number, text: "x", row: timed ? 0 : -1, own: null, total: null });
const lines = (count: number, ...timed: number[]): Line[] => Array.from({ length: count }, (_, i) => line(i, timed.includes(i)));

describe("folded", () => {
  it("hides what is far from lines that take time", () => {
    expect(folded(lines(20, 10), 2).map((row) => (row.line < 0 ? `-${row.hidden}` : row.line))).toEqual(["-8", 8, 9, 10, 11, 12, "-7"]);
  });
  it("does not hide a line or two", () => {
    expect(folded(lines(9, 2, 7), 1).map((row) => row.line)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
    expect(folded(lines(12, 2, 8), 1).map((row) => row.line)).toEqual([0, 1, 2, 3, -1, 7, 8, 9, 10, 11]);
  });
  it("shows all where nothing takes time, or all is asked for", () => {
    expect(folded(lines(5), 1)).toHaveLength(5);
    expect(folded(lines(50, 3), null)).toHaveLength(50);
  });
});
