import { expect, test } from "vitest";

import { PROVENANCE, SCOPE } from "../../api/made.testdata";
import type { Column, Report, RunInfo, Table } from "../../api/types";
import { historiesOf, runOf } from "./history";

const column = (id: string): Column => ({ id, label: id, unit: "", kind: "text", doc: "" });

function table(id: string, ids: string[], rows: Table["rows"]): Table {
  return { id, title: id, columns: ids.map(column), rows };
}

function report(tables: Table[], points: [number, number][]): Report {
  const series = [
    { id: "step_time_mean_ps", title: "Step time", x: { label: "Entry", unit: "1" }, y: { label: "Value", unit: "ps" }, points },
  ];
  const rest = {
    analysis: "ledger show",
    version: 1,
    scope: SCOPE,
    provenance: PROVENANCE,
    quality: [],
    values: {},
    trees: [],
    findings: [],
    texts: [],
    passed: null,
    gate: null,
  };
  return { ...rest, tables, series };
}

const METRICS = ["metric", "unit", "level", "trend", "outliers"];
const CHANGES = ["metric", "entry", "before", "after", "verdict"];

test("levels lie between changes, whatever the order of the table", () => {
  const [one] = historiesOf(
    report(
      [
        table("metrics", METRICS, [["step_time_mean_ps", "ps", 7, "level", "2 4"]]),
        table("change_points", CHANGES, [
          ["step_time_mean_ps", 6, 9, 7, "better"],
          ["mfu", 3, 1, 2, "worse"],
          ["step_time_mean_ps", 3, 5, 9, "worse"],
        ]),
        table(
          "entries",
          ["entry", "decision"],
          [
            [4, "revert"],
            [5, "revert"],
            [6, "keep"],
          ],
        ),
      ],
      [1, 2, 3, 4, 5, 6, 7].map((entry) => [entry, entry]),
    ),
  );
  expect(one?.levels).toEqual([
    { from: 1, to: 2, value: 5 },
    { from: 3, to: 5, value: 9 },
    { from: 6, to: 7, value: 7 },
  ]);
  expect(one?.points.map((point) => point.kind)).toEqual(["", "outlier", "", "outlier", "reverted", "", ""]);
  expect(one?.unit).toBe("ps");
});

test("without a change there is one level, and a drift has none", () => {
  const levels = (trend: string) =>
    historiesOf(
      report(
        [table("metrics", METRICS, [["step_time_mean_ps", "ps", 7, trend, null]])],
        [
          [1, 7],
          [3, 7],
        ],
      ),
    )[0]?.levels;
  expect(levels("level")).toEqual([{ from: 1, to: 3, value: 7 }]);
  expect(levels("rising")).toEqual([]);
  expect(levels("unknown")).toEqual([]);
  expect(historiesOf(report([], []))[0]).toMatchObject({ points: [], levels: [], changes: [], unit: "" });
});

test("an entry's run is found where there is just one", () => {
  const run = (id: string, name: string, path: string): RunInfo => ({
    id,
    name,
    path,
    hosts: [],
    size_bytes: 0,
    modified_ms: 0,
    writing: false,
    dropped: false,
  });
  const one = run("s1", "s1", "/logs/plugins/profile/s1");
  expect(runOf([one], "logs/s1", "s1")).toBe(one);
  expect(runOf([one], "logs/s2", "s2")).toBeNull();
  const [a, b] = ["a", "b"].map((log) => run(`${log}/plugins/profile/s`, "s", `/x/${log}/plugins/profile/s`)) as [RunInfo, RunInfo];
  expect(runOf([a, b], "b/s", "s")).toBe(b);
  expect(runOf([a, b], "s", "s")).toBeNull();
  const named = run("b/plugins/profile/s", "b/s", "/x/b/plugins/profile/s");
  expect(runOf([run("a/plugins/profile/s", "a/s", "/x/a/plugins/profile/s"), named], "b/s", "s")).toBe(named);
  const file = run("host", "host", "/x/host.xplane.pb");
  expect(runOf([file], "host.xplane.pb", "host.xplane.pb")).toBe(file);
});
