import { describe, expect, it } from "vitest";

import { analysis, finding, link } from "../api/made.testdata";
import type { AnalysisInfo, Link } from "../api/types";
import { changeRoute, parseRoute } from "../state/url";
import { findingText, linkCommand, linkRoute, linkWords, savedShare, speedupText } from "./links";

const MS = 1e9;
const analyses: AnalysisInfo[] = [analysis("hosts"), analysis("memory-peak", { name: "memory peak" })];
const slow: Link = link("hosts", {
  params: [],
  table: "devices",
  row: "w-5/TPU:0",
  devices: ["w-5/TPU:0"],
  steps: "2-5",
  window_ps: [12 * MS, 13.1 * MS],
});

describe("a link", () => {
  it("sets page, scope and mark, and says so", () => {
    expect(linkRoute(slow, analyses)).toEqual({
      page: "hosts",
      scope: { devices: "w-5/TPU:0", steps: "2-5", window: "12ms..13.1ms" },
      view: { mark: "devices:w-5/TPU:0" },
    });
    expect(linkWords(slow)).toBe("hosts › devices: w-5/TPU:0, steps 2-5, 12 ms to 13.1 ms");
    expect(linkCommand(slow)).toBe("haloscope hosts RUN --devices w-5/TPU:0 --steps 2-5 --window 12ms..13.1ms --table devices");
  });
  it("keeps what it does not narrow", () => {
    const here = parseRoute("?page=overview&steps=3&hosts=w-0&by=x");
    const next = changeRoute(here, linkRoute(link("memory peak", { params: [["module", "jit_f(7)"]] }), analyses));
    expect(next).toMatchObject({ page: "memory-peak", scope: { steps: "3", hosts: "w-0" }, view: { module: "jit_f(7)" } });
    expect(Object.keys(next.view)).toEqual(["module"]);
  });
  it("to the timeline shows the window with a little around it, and leaves the scope alone", () => {
    const toTimeline: Link = link("timeline", { devices: ["TPU:0"], row: "copy.1", window_ps: [100 * MS, 120 * MS] });
    expect(linkRoute(toTimeline, analyses)).toEqual({
      page: "timeline",
      view: { view: "99000000000..121000000000", q: "copy.1", tracks: "TPU:0" },
    });
    expect(linkWords(toTimeline)).toBe("timeline: copy.1, TPU:0, 100 ms to 120 ms");
    expect(linkCommand(toTimeline)).toBeNull();
  });
  it("opens an op's row", () => {
    expect(linkRoute(link("ops", { table: "ops", row: "fusion.1" }), analyses).view).toEqual({ mark: "ops:fusion.1", sel: "fusion.1" });
  });
  it("names a table, many devices, one step, a short stretch", () => {
    expect(linkWords(link("idle", { table: "gaps" }))).toBe("idle › gaps");
    expect(linkRoute(link("idle", { table: "gaps" }), analyses).view).toEqual({ mark: "gaps:" });
    expect(linkWords(link("hosts", { devices: ["a", "b", "c"], steps: "4" }))).toBe("hosts: a and 2 more, step 4");
    expect(linkWords(link("timeline", { window_ps: [2e12, 2e12 + 1e6] }))).toBe("timeline: 1.00 µs at 2.00000 s");
  });
  it("is quoted where a shell would read it otherwise", () => {
    expect(linkCommand(link("comm", { params: [["source_line", "a b's"]] }))).toBe("haloscope comm RUN --source-line 'a b'\\''s'");
  });
});

it("knows the share behind a speedup", () => {
  expect(savedShare(1.25)).toBeCloseTo(0.2);
  expect([savedShare(null), savedShare(undefined), savedShare(0), savedShare(Infinity)]).toEqual([null, null, null, null]);
  expect([1.294, 12.34, 250].map(speedupText)).toEqual(["1.29×", "12.3×", ">100×"]);
});

it("writes a finding as lines, without what it lacks", () => {
  const slowly = finding("x", { claim: "Slow", evidence: "5%", links: [slow, link("timeline")] });
  expect(findingText(slowly).split("\n")).toEqual([
    "Slow",
    "Evidence: 5%",
    "Known by: derived",
    `See: ${linkCommand(slow) ?? ""} (w-5/TPU:0)`,
    "See: timeline",
  ]);
  expect(findingText(finding("x", { claim: "Slow" }))).toBe("Slow\nKnown by: derived");
});
