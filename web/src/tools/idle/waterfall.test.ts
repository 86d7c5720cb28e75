import { expect, it } from "vitest";

import type { Table } from "../../api/types";
import { waterfall } from "./waterfall";

const table: Table = {
  id: "waterfall",
  title: "",
  columns: [
    { id: "class", label: "", unit: "", kind: "text", doc: "" },
    { id: "time_ps", label: "", unit: "ps", kind: "duration_ps", doc: "" },
  ],
  rows: [
    ["before the first op", 30],
    ["between programs", 10],
    ["infeed and outfeed", 0],
    ["exposed communication", 20],
    ["compute", 40],
  ],
};

it("falls from the whole to what is left, without a gap", () => {
  const falls = waterfall(table, "capture");
  expect(falls.map((fall) => [fall.name, fall.from, fall.to])).toEqual([
    ["capture", 0, 100],
    ["before the first op", 70, 100],
    ["between programs", 60, 70],
    ["exposed communication", 40, 60],
    ["compute", 0, 40],
  ]);
  expect(falls.slice(1).reduce((sum, fall) => sum + (fall.share ?? 0), 0)).toBeCloseTo(1);
});

it("leaves out what lies outside of the active window when asked for that", () => {
  const falls = waterfall(table, "active");
  expect(falls[0]?.ps).toBe(70);
  expect(falls.map((fall) => fall.name)).not.toContain("before the first op");
  expect(falls.at(-1)).toMatchObject({ name: "compute", from: 0, to: 40 });
});

it("has nothing to draw of nothing", () => {
  expect(waterfall(null, "capture")).toEqual([]);
  expect(waterfall({ ...table, rows: [] }, "capture")).toEqual([]);
});
