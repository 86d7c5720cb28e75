import { describe, expect, it } from "vitest";

import type { RunInfo, Runs } from "../api/types";
import { followed } from "./followed";

const run = (id: string, writing = false, size_bytes = 1, dropped = false): RunInfo => ({
  id,
  name: id,
  path: id,
  hosts: [],
  size_bytes,
  modified_ms: 0,
  writing,
  dropped,
});

const listing = (first: string | null, ...runs: readonly RunInfo[]): Runs => ({
  runs,
  default: first,
  version: "",
  stale: null,
  logdir: "",
  listing: "",
});

describe("followed", () => {
  it("stays at the run that was the newest, and names the one that came", () => {
    const next = followed(listing("a", run("a")), listing("b", run("b"), run("a")));
    expect(next.runs.default).toBe("a");
    expect(next.runs.runs.length).toBe(2);
    expect(next.arrived?.id).toBe("b");
    expect(next.changed).toBe(false);
  });

  it("says nothing of a file that somebody dropped", () => {
    const next = followed(listing("a", run("a")), listing("a", run("a"), run("b", false, 1, true)));
    expect(next.runs.runs.length).toBe(2);
    expect(next.arrived).toBeNull();
  });

  it("takes the first run that comes to an empty folder, without a word", () => {
    const next = followed(listing(null), listing("b", run("b")));
    expect(next.runs.default).toBe("b");
    expect(next.arrived).toBeNull();
  });

  it("names a run when it is complete, and once", () => {
    const half = listing("a", run("b", true), run("a"));
    expect(followed(listing("a", run("a")), half).arrived).toBeNull();
    const whole = listing("b", run("b", false, 2), run("a"));
    const next = followed(half, whole);
    expect(next.arrived?.id).toBe("b");
    expect(next.changed).toBe(true);
    expect(followed(whole, whole).arrived).toBeNull();
  });

  it("names a run whose files were replaced, and not one that was still being written", () => {
    const before = listing("a", run("a"), run("b", true), run("c"));
    const next = followed(before, listing("a", run("a", false, 9), run("b", true, 9), run("c")));
    expect(next.replaced).toEqual(["a"]);
    expect(next.changed).toBe(true);
    // Begun again in the same place.
    expect(followed(before, listing("a", run("a", true, 2), run("c"))).replaced).toEqual(["a"]);
    expect(followed(before, before).replaced).toEqual([]);
  });

  it("leaves a run that is gone", () => {
    const next = followed(listing("a", run("a")), listing("b", run("b")));
    expect(next.runs.default).toBe("b");
  });
});
