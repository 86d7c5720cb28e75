import { expect, it } from "vitest";

import type { Column, Kind, Table } from "../../api/types";
import type { Cell } from "../../base/format";
import { MOST_BARS, barsOf, chartOf, seriesOf } from "./chart";

const column = (id: string, kind: Kind, unit = ""): Column => ({ id, label: id, unit, kind, doc: "" });
const table = (columns: Column[], rows: Cell[][]): Table => ({ id: "sql", title: "Rows", columns, rows });

it("draws bars by words: a time before a count", () => {
  const some = table(
    [column("kind", "text"), column("name", "text"), column("events", "int"), column("dur_ps", "duration_ps", "ps")],
    [
      ["op", "fusion", 4, 2e9],
      ["op", "copy", 9, null],
      ["step", "0", 1, 5e9],
    ],
  );
  const chart = chartOf(some);
  expect(chart).toEqual({ kind: "bars", x: 0, y: [3, 2] });
  if (chart === null) return;
  const bars = barsOf(some, chart, 3, "red");
  expect(bars.full).toBe(5e9);
  // What is unknown has no bar.
  expect(bars.rows.map((row) => [row.name, row.parts[0]?.value])).toEqual([
    ["op · fusion", 2e9],
    ["step · 0", 5e9],
  ]);
});

it("draws a line where a step or a time rises from row to row", () => {
  const rows: Cell[][] = [
    [0, 3e9],
    [1, null],
    [2, 4e9],
  ];
  const some = table([column("step", "int"), column("step_ps", "duration_ps", "ps")], rows);
  const chart = chartOf(some);
  expect(chart).toEqual({ kind: "line", x: 0, y: [1] });
  if (chart !== null) expect(seriesOf(some, chart, 1).points).toEqual(rows);
  // In no order there is no line: bars by the step.
  expect(chartOf(table(some.columns as Column[], [...rows].reverse()))?.kind).toBe("bars");
});

it("draws nothing of one row, of words alone, or of numbers below nothing", () => {
  expect(chartOf(table([column("n", "int")], [[1]]))).toBeNull();
  expect(chartOf(table([column("a", "text")], [["x"], ["y"]]))).toBeNull();
  expect(
    chartOf(
      table(
        [column("a", "text"), column("d", "duration_ps")],
        [
          ["x", -1],
          ["y", 2],
        ],
      ),
    ),
  ).toBeNull();
});

it("says how many rows have no bar", () => {
  const some = table(
    [column("a", "text"), column("n", "int")],
    Array.from({ length: MOST_BARS + 5 }, (_, i) => [`r${i}`, i]),
  );
  const chart = chartOf(some);
  expect(chart === null ? null : barsOf(some, chart, 1, "red").more).toBe(5);
});
