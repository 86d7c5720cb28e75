import { describe, expect, it } from "vitest";

import { parseWindowText, windowText } from "./window";

describe("windows", () => {
  it("are read with units, with one unit for both, and without", () => {
    expect(parseWindowText("1.5ms..20ms")).toEqual([1_500_000_000, 20_000_000_000]);
    expect(parseWindowText("1.5..20 ms")).toEqual([1_500_000_000, 20_000_000_000]);
    expect(parseWindowText("900 µs to 1s")).toEqual([900_000_000, 1e12]);
    expect(parseWindowText("5..7")).toEqual([5, 7]);
    expect(parseWindowText(".5us..1us")).toEqual([500_000, 1_000_000]);
  });
  it("are refused where they say nothing", () => {
    for (const text of ["", "5", "7..5", "5..5", "1ms..2parsecs", "-1..5", "1..2..3", "99999999999999999s..1"]) {
      expect(parseWindowText(text)).toBeNull();
    }
  });
  it("are written to the picosecond", () => {
    for (const [start, end] of [
      [0, 20_000_000_000],
      [1_500_000_000, 20_000_000_001],
      [7, 999],
      [123_456_789_012, 123_456_789_013],
      [1_234_567_890_123, 3_600_000_000_000_007],
    ] as const) {
      expect(parseWindowText(windowText(start, end))).toEqual([start, end]);
    }
    expect(windowText(1_500_000_000, 20_000_000_000)).toBe("1.5ms..20ms");
    expect(windowText(0, 2e12)).toBe("0s..2s");
  });
});
