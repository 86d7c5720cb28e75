import { describe, expect, it } from "vitest";

import { definedBy, lineOf, splitLines, widest } from "./lines";

describe("lines", () => {
  it("end where newlines are", () => {
    expect(splitLines("a\nb\n")).toEqual(["a", "b"]);
    expect(splitLines("")).toEqual([""]);
    expect(widest(["a", "abc", ""])).toBe(3);
  });
  it("of HLO name what they define", () => {
    expect(definedBy("  ROOT %fusion.3 = f32[8]{0} fusion(f32[8]{0} %p), kind=kLoop")).toBe("fusion.3");
    expect(definedBy("  all-reduce-start.1 = f32[] all-reduce-start(x)")).toBe("all-reduce-start.1");
    expect(definedBy("ENTRY main (p: f32[8]) -> f32[8] {")).toBeNull();
    expect(definedBy("}")).toBeNull();
  });
  it("are found by what they define", () => {
    expect(lineOf(["ENTRY e {", "  a.1 = f32[] parameter(0)", "  ROOT a = f32[] negate(a.1)", "}"], "a")).toBe(2);
    expect(lineOf(["a = x"], "b")).toBe(-1);
    expect(lineOf([" = x"], "")).toBe(-1);
  });
});
