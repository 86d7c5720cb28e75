import { expect, it } from "vitest";

import type { Report, RunInfo } from "../../api/types";
import { idOf, noteOf } from "./fleet";

const run = (id: string, name: string, dropped = false): RunInfo => ({
  id,
  name,
  path: id,
  hosts: [],
  size_bytes: 1,
  modified_ms: 0,
  writing: false,
  dropped,
});

it("leads to the one run of that name", () => {
  const runs = [run("a/x", "x"), run("b/y", "y"), run("c/y", "y"), run("(opened)/x", "x", true)];
  expect(idOf(runs, "x")).toBe("a/x");
  expect(idOf(runs, "y")).toBeNull();
  expect(idOf(runs, "z")).toBeNull();
});

it("says how many are shown and how many were not read", () => {
  const report = (unread: number): Report =>
    ({
      tables: [{ id: "runs", title: "", columns: [], rows: [["a"], ["b"], ["c"]] }],
      values: { unread: { value: unread, unit: "count", status: "measured", label: "", doc: "" } },
    }) as unknown as Report;
  expect(noteOf(report(0), 3)).toBe("3, newest first");
  expect(noteOf(report(1), 2)).toBe("2 of 3, 1 not read");
});
