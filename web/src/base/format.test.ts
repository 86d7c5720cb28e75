import { describe, expect, it } from "vitest";

import {
  formatBytes,
  formatCell,
  formatChange,
  formatDuration,
  formatInt,
  formatMixed,
  formatQuantity,
  formatShare,
  formatTick,
  formatValue,
  significant,
} from "./format";

describe("formatDuration", () => {
  it.each([
    [0, "0 s"],
    [1, "1 ps"],
    [999, "999 ps"],
    [1_500, "1.500 ns"],
    [999_960, "1.000 µs"],
    [12_340_000, "12.34 µs"],
    [123_456_789_000, "123.5 ms"],
    [2.5e12, "2.500 s"],
    [-3e9, "-3.000 ms"],
    [3_600e12, "3600 s"],
  ])("%d ps is %s", (ps, text) => expect(formatDuration(ps)).toBe(text));
});

it("drops the zeros of ticks, and no others", () => {
  expect([0, 5e9, 12.5e9, 100e9, 20e12].map(formatTick)).toEqual(["0 s", "5 ms", "12.5 ms", "100 ms", "20 s"]);
});

describe("sizes and rates", () => {
  it("writes bytes in binary words", () => {
    expect(formatBytes(512)).toBe("512 B");
    expect(formatBytes(1536)).toBe("1.500 KiB");
    expect(formatBytes(16 * 1024 ** 3)).toBe("16.00 GiB");
  });
  it("writes rates in decimal words", () => {
    expect(formatQuantity(819e9, "B/s")).toBe("819.0 GB/s");
    expect(formatQuantity(1.97e14, "FLOP/s")).toBe("197.0 TFLOP/s");
    expect(formatQuantity(12, "FLOP")).toBe("12 FLOP");
  });
});

describe("shares", () => {
  it("never rounds something to nothing", () => {
    expect(formatShare(0)).toBe("0.0%");
    expect(formatShare(0.0002)).toBe("<0.1%");
    expect(formatShare(0.9999)).toBe(">99.9%");
    expect(formatShare(1)).toBe("100.0%");
    expect(formatShare(0.983)).toBe("98.3%");
    expect(formatShare(-0.0002)).toBe(">-0.1%");
    expect(formatShare(-0.036)).toBe("-3.6%");
    expect(formatShare(546268.983)).toBe("54\u202f626\u202f898%");
  });
});

describe("cells and values", () => {
  it("says unknown, not zero", () => {
    expect(formatValue(null, "ps")).toBe("unknown");
    expect(formatCell(null, "share", "1")).toBe("unknown");
  });
  it("follows the kind", () => {
    expect(formatCell(0.25, "share", "1")).toBe("25.0%");
    expect(formatCell(true, "flag", "")).toBe("yes");
    expect(formatCell(0.25, "float", "1")).toBe("0.2500");
    expect(formatCell(1234567, "int", "")).toBe("1\u202f234\u202f567");
    expect(formatCell(2e9, "int", "FLOP")).toBe("2.000 GFLOP");
    expect(formatValue(3.25, "FLOP/B")).toBe("3.250 FLOP/B");
  });
  it("takes the unit from the row where a column has several", () => {
    expect(formatMixed(68.7e9, "ps")).toBe("68.70 ms");
    expect(formatMixed(0.412, "share")).toBe("41.2%");
    expect(formatMixed(1536, "B")).toBe("1.500 KiB");
    expect(formatMixed(12, "count")).toBe("12");
    expect(formatMixed(1.97e14, "FLOP/s")).toBe("197.0 TFLOP/s");
    expect(formatMixed(240.5, "FLOP/B")).toBe("240.5 FLOP/B");
    expect(formatMixed("fusion.1", "")).toBe("fusion.1");
    expect(formatMixed(null, "ps")).toBe("unknown");
  });
  it("writes differences with a sign, and those of shares in points", () => {
    expect(formatChange(5.03e9, "ps")).toBe("+5.030 ms");
    expect(formatChange(-1536, "B")).toBe("−1.500 KiB");
    expect(formatChange(-0.021, "share")).toBe("−2.100 points");
    expect(formatChange(0, "share")).toBe("0.0%");
    expect(formatChange(null, "ps")).toBe("unknown");
  });
  it("keeps significant digits", () => {
    expect(significant(0.000001234)).toBe("1.234e-6");
    expect(significant(0.01234)).toBe("0.01234");
    expect(significant(9.99999)).toBe("10.00");
    expect(formatInt(1000)).toBe("1\u202f000");
  });
});
