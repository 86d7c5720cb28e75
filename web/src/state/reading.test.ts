import { expect, test } from "vitest";

import { isPartial, takesParts } from "./reading";

test("a report with the remark is one of some of the hosts", () => {
  expect(isPartial({ quality: [{ id: "no_step_markers" }, { id: "hosts_being_read" }] })).toBe(true);
  expect(isPartial({ quality: [{ id: "no_step_markers" }] })).toBe(false);
  for (const other of [null, 7, "text", {}, { quality: "none" }, { quality: [null] }]) expect(isPartial(other)).toBe(false);
});

test("parts are asked for of runs of many hosts, and not where hosts were chosen", () => {
  const run = (id: string, count: number) => ({
    id,
    name: id,
    path: id,
    hosts: Array.from({ length: count }, (_, i) => `w-${i}`),
    size_bytes: 1,
    modified_ms: 1,
    writing: false,
    dropped: false,
  });
  const runs = { runs: [run("two", 2), run("many", 64)], default: "two", version: "", logdir: "", listing: "", stale: null };
  expect(takesParts(runs, "two", "")).toBe(false);
  expect(takesParts(runs, "many", "")).toBe(true);
  expect(takesParts(runs, "many", "w-1")).toBe(false);
  expect(takesParts(runs, "gone", "")).toBe(false);
});
