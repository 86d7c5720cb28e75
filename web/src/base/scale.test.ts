import { describe, expect, it } from "vitest";

import { binaryScale, clamp, extent, linearScale, linearTicks, logScale, logTicks } from "./scale";

describe("ticks", () => {
  it("are round and inside", () => {
    expect(linearTicks([0, 97], 5)).toEqual([0, 20, 40, 60, 80]);
    expect(linearTicks([0.1, 0.52], 4)).toEqual([0.1, 0.2, 0.3, 0.4, 0.5]);
    expect(linearTicks([0, 86], 4)).toEqual([0, 20, 40, 60, 80]);
    expect(linearTicks([3, 3], 4)).toEqual([]);
  });
  it("are round in the unit that bytes are written in", () => {
    const scale = binaryScale(3.1 * 2 ** 30, [100, 0]);
    expect(scale.ticks.map((tick) => tick / 2 ** 30)).toEqual([0, 1, 2, 3]);
    expect(scale(0)).toBe(100);
    expect(scale.invert(scale(2 ** 30))).toBeCloseTo(2 ** 30);
    expect(binaryScale(0, [100, 0])(0)).toBe(100);
  });
  it("are powers of ten on a log axis, thinned", () => {
    expect(logTicks([0.5, 2000], 6)).toEqual([1, 10, 100, 1000]);
    expect(logTicks([1, 1e12], 4)).toEqual([1, 1e4, 1e8, 1e12]);
    expect(logTicks([0, 10], 4)).toEqual([]);
  });
});

describe("scales", () => {
  it("map and invert", () => {
    const x = linearScale([0, 10], [100, 200]);
    expect(x(5)).toBe(150);
    expect(x.invert(150)).toBe(5);
    const y = logScale([1, 1000], [300, 0]);
    expect(y(10)).toBeCloseTo(200);
    expect(y.invert(100)).toBeCloseTo(100);
  });
  it("survive an empty domain", () => {
    expect(Number.isFinite(linearScale([4, 4], [0, 10])(4))).toBe(true);
  });
});

describe("extent and clamp", () => {
  it("skip what is unknown", () => {
    expect(extent([null, 3, Number.NaN, -1])).toEqual([-1, 3]);
    expect(extent([null])).toBeNull();
    expect(clamp(12, 0, 10)).toBe(10);
  });
});
