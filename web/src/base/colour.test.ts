import { describe, expect, it } from "vitest";

import { assignColours, hashName, mixed, stem } from "./colour";

describe("names", () => {
  it("of one family share a stem", () => {
    expect(stem("fusion.12")).toBe(stem("%fusion.7"));
    expect(stem("copy_bitcast_fusion.3")).toBe("copy_bitcast_fusion");
    expect(stem("17")).toBe("17");
  });
  it("spread over the colours", () => {
    const names = ["copy-done", "async-copy", "jit_f", "fusion", "all-reduce", "dot", "convolution", "while", "broadcast", "reduce"];
    const used = new Set(names.map((name) => hashName(name) % 10));
    expect(used.size).toBeGreaterThanOrEqual(6);
    expect(hashName("fusion")).toBe(hashName("fusion"));
  });
});

it("numbers labels in the order in which they come", () => {
  expect([...assignColours(["b", "a", "b"])]).toEqual([
    ["b", 0],
    ["a", 1],
  ]);
});

it("mixes colours as the stylesheet does", () => {
  expect(mixed("#ff0000", "#0000ff", 0)).toBe("#ff0000");
  expect(mixed("#ff0000", "#0000ff", 50)).toBe("#800080");
  expect(mixed("#102030", "#ffffff", 100)).toBe("#ffffff");
  expect(mixed("", "#ffffff", 50)).toBe("");
});
