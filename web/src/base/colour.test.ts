import { describe, expect, it } from "vitest";

import { assignColours, boundVar, hashName, stem } from "./colour";

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

it("gives what bounds an op one colour everywhere", () => {
  expect(boundVar("memory")).toBe("var(--series-0)");
  expect(boundVar("")).toBe(boundVar("unknown"));
  expect(boundVar("loop fusion")).toBeNull();
  expect([...assignColours(["b", "a", "b"])]).toEqual([
    ["b", 0],
    ["a", 1],
  ]);
});
