import { expect, it } from "vitest";

import type { Column, Table } from "../../api/types";
import { LEVELS, heatOf, heatPaths, hostOf, levelOf } from "./heat";
import { quantile } from "./quantile";

const table = (rows: (string | number | null)[][]): Table => ({
  id: "steps",
  title: "",
  columns: ["step", "device", "duration_ps", "work_ps"].map((id): Column => ({ id, label: id, unit: "", kind: "int", doc: "" })),
  rows,
});

const three = table([
  [0, "w-0/TPU:0", 100, 60],
  [1, "w-0/TPU:0", 100, 61],
  [0, "w-0/TPU:1", 100, 60],
  [0, "w-1/TPU:0", 100, 90],
  [1, "w-1/TPU:0", 100, null],
]);

it("has a line a device and a cell a step, with holes where there is none", () => {
  const heat = heatOf(three, "work_ps");
  expect(heat?.devices).toEqual(["w-0/TPU:0", "w-0/TPU:1", "w-1/TPU:0"]);
  expect(heat?.steps).toEqual(["0", "1"]);
  expect(heat?.cells.map((line) => line.map((cell) => cell?.ps ?? null))).toEqual([
    [60, 61],
    [60, null],
    [90, null],
  ]);
  expect(heat?.hostStarts).toEqual([2]);
  expect(heat?.cells[2]?.[0]?.level).toBe(LEVELS - 1);
  expect(heat?.cells[0]?.[0]?.level).toBe(0);
});

it("makes nothing of noise", () => {
  // All steps take as long: the middle of the scale.
  const heat = heatOf(three, "duration_ps");
  const levels = heat?.cells.flatMap((line) => line.flatMap((cell) => (cell === null ? [] : [cell.level])));
  expect(new Set(levels)).toEqual(new Set([(LEVELS - 1) / 2]));
  expect([heat?.low, heat?.high]).toEqual([95, 105]);
});

it("draws one path a level", () => {
  const heat = heatOf(three, "work_ps");
  if (heat === null) throw new Error("no heat");
  const paths = heatPaths(heat, 10, 5, 1);
  expect(paths).toHaveLength(LEVELS);
  expect(paths[LEVELS - 1]).toBe("M0.0 10.0h9.0v4.0h-9.0z");
  expect(paths.join("").match(/M/g)).toHaveLength(4);
});

it("knows hosts, levels and quantiles", () => {
  expect([hostOf("w-0/TPU:1"), hostOf("TPU:1")]).toEqual(["w-0", ""]);
  expect([levelOf(-1, 0, 9), levelOf(4.5, 0, 9), levelOf(99, 0, 9), levelOf(1, 2, 2)]).toEqual([0, 4, LEVELS - 1, 0]);
  expect(quantile([1, 2, 3, 4], 0.5)).toBe(2.5);
  expect(quantile([], 0.5)).toBeNaN();
  expect(heatOf(table([]), "work_ps")).toBeNull();
});
