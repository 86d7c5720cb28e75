import { describe, expect, it } from "vitest";

import { NO_SEARCH, complaint, exactName, isSearch, readSearch, searchParams, serverDuration, writeSearch } from "./query";

describe("a search", () => {
  it("reads durations with their units; a bare number is microseconds", () => {
    expect(["10us", "1.5 ms", "3µs", "7", " 2s ", ""].map(serverDuration)).toEqual(["10us", "1.5ms", "3us", "7us", "2s", ""]);
    expect(serverDuration("soon")).toBeNull();
  });
  it("says what is wrong before it is asked", () => {
    expect(complaint({ ...NO_SEARCH, min: "soon" })).toMatch(/Longer than.*soon/);
    expect(complaint({ ...NO_SEARCH, text: "a(", regex: true })).toMatch(/regular expression/);
    expect(complaint({ ...NO_SEARCH, text: "a(" })).toBeNull();
  });
  it("asks only for what was said", () => {
    expect(searchParams({ ...NO_SEARCH, text: "fusion", max: "2ms" })).toEqual([
      ["q", "fusion"],
      ["max", "2ms"],
    ]);
    expect(isSearch(NO_SEARCH)).toBe(false);
  });
  it("round-trips through the address", () => {
    const form = { text: "^a b$", regex: true, exact: false, stat: "flops>1e9", min: "10us", max: "" };
    expect(readSearch(writeSearch(form))).toEqual(form);
  });
  it("matches one name alone", () => {
    expect(searchParams(exactName("jit_f(1)/a.b"))).toEqual([
      ["q", "jit_f(1)/a.b"],
      ["exact", "1"],
    ]);
    // One or the other.
    expect(searchParams({ ...exactName("a.b"), regex: true })).toEqual([
      ["q", "a.b"],
      ["regex", "1"],
    ]);
  });
});
