import { describe, expect, it } from "vitest";

import type { RunInfo } from "../../api/types";
import { made, tableWith } from "./made.testdata";
import { byLikeness, likeness, mainProgram, neighbours } from "./neighbours";

const run = (name: string, modified_ms: number): RunInfo => ({
  id: name,
  name,
  path: "",
  hosts: [],
  size_bytes: 1,
  modified_ms,
  writing: false,
  dropped: false,
});
const MODULES = ["module", "fingerprint", "time_ps"];

describe("the runs offered to compare with", () => {
  const runs = [run("b/3", 90), run("a/2", 80), run("b/1", 10), run("a/1", 20)];
  it("are the run's own neighbours first", () => {
    expect(neighbours(runs, "a/1").map((one) => one.id)).toEqual(["a/2", "b/1", "b/3"]);
    expect(neighbours(runs, "gone").map((one) => one.id)).toEqual(["b/3", "a/2", "b/1", "a/1"]);
  });
  it("are those that cannot be read last of all", () => {
    const of = (one: RunInfo) => (one.id === "a/2" ? "cannot be read" : "another program");
    expect(byLikeness(neighbours(runs, "a/1"), of).map((one) => one.id)).toEqual(["b/1", "b/3", "a/2"]);
  });
  it("are those of the same program before them, and others last", () => {
    const of = (one: RunInfo) => (one.id === "b/3" ? "same program" : one.id === "b/1" ? "" : "another program");
    expect(byLikeness(neighbours(runs, "a/1"), of).map((one) => one.id)).toEqual(["b/3", "b/1", "a/2"]);
  });
});

describe("a run's program", () => {
  it("is the one that takes most time", () => {
    const table = tableWith("modules", MODULES, [
      ["jit_init", "1", 5],
      ["jit_step", "2", 90],
      ["jit_x", null, null],
    ]);
    expect(mainProgram(made({}, [table]))).toEqual({ module: "jit_step", fingerprint: "2" });
    expect(mainProgram(made({}, [tableWith("modules", MODULES, [])]))).toBeNull();
    expect(mainProgram(made({}))).toBeNull();
  });
  it("is the same, of the same name, another, or not known", () => {
    const [a, b, c] = [
      { module: "m", fingerprint: "1" },
      { module: "m", fingerprint: "2" },
      { module: "n", fingerprint: "" },
    ];
    expect([likeness(a, a), likeness(a, b), likeness(a, c), likeness(a, null), likeness(undefined, a)]).toEqual([
      "same program",
      "same name, compiled again",
      "another program",
      "",
      "",
    ]);
    expect([likeness(a, "unreadable"), likeness("unreadable", a)]).toEqual(["cannot be read", ""]);
    // Without a fingerprint the name is all there is.
    expect(likeness(c, c)).toBe("same name, compiled again");
  });
});
