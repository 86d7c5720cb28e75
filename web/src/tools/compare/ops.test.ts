import { expect, it } from "vitest";

import { tableWith } from "./made.testdata";
import { absentIn, changeCounts, keyOf, partsOf, waysOf, withChange } from "./ops";

const table = tableWith(
  "ops",
  ["op", "was", "change", "module", "delta_ps", "count_ps", "work_ps", "efficiency_ps"],
  [
    ["fusion.98", "fusion.123", "slower", "jit_f", 26, 0, 0, 26],
    ["copy.1", null, "new", "jit_f", 9, null, null, null],
    [null, "transpose.7", "gone", "jit_f", -4, null, null, null],
    ["fusion.2", "fusion.2", "unchanged", "jit_f", 1, 0, 0, 1],
    ["a.1, a.2", "a.1", "regrouped", "", -3, -3, 0, 0],
    ["fusion.9", "fusion.8", "novel", "jit_f", -30, 0, 0, -30],
  ],
);

it("counts changes in the order in which one asks for them, and keeps those it does not know", () => {
  expect(changeCounts(table).map((one) => `${one.change} ${one.count}`)).toEqual([
    "slower 1",
    "new 1",
    "gone 1",
    "regrouped 1",
    "unchanged 1",
    "novel 1",
  ]);
  expect(withChange(table, "gone").rows).toHaveLength(1);
  expect(withChange(table, "").rows).toHaveLength(6);
});

it("shows what a bar of the waterfall is made of, the largest first", () => {
  expect(partsOf("efficiency", table)?.map((part) => [part.name, part.ps])).toEqual([
    ["fusion.9", -30],
    ["fusion.98", 26],
    ["fusion.2", 1],
  ]);
  expect(partsOf("gone", table)).toEqual([{ key: "transpose.7 @ jit_f", name: "transpose.7", ps: -4 }]);
  expect(partsOf("new", table)?.map((part) => part.name)).toEqual(["copy.1"]);
  expect(partsOf("idle", table)).toBeNull();
});

it("leads to the op in either run, by the name that it has there", () => {
  const ways = (row: number) =>
    waysOf(table, table.rows[row], "A", "B").map(({ to }) => [to.run, to.page, to.view?.["sel"] ?? to.view?.["q"] ?? to.view?.["node"]]);
  expect(ways(0)).toEqual([
    ["A", "ops", "fusion.123 @ jit_f"],
    ["A", "timeline", "fusion.123"],
    ["A", "hlo", "fusion.123"],
    ["B", "ops", "fusion.98 @ jit_f"],
    ["B", "timeline", "fusion.98"],
    ["B", "hlo", "fusion.98"],
  ]);
  expect(ways(1).map(([run]) => run)).toEqual(["B", "B", "B"]);
  expect(ways(2).map(([run]) => run)).toEqual(["A", "A", "A"]);
  // Several names are no place to go to.
  expect(ways(4).map(([run]) => run)).toEqual(["A", "A"]);
  expect(keyOf(table, table.rows[2])).toBe("transpose.7 @ jit_f");
});

it("tells what is not there from what is not known", () => {
  const absent = absentIn(table);
  expect([0, 1, 2].map((row) => absent(table.rows[row] ?? [], 5))).toEqual([null, "none", "none"]);
  // The program of a new op exists, known or not.
  expect(absent(table.rows[1] ?? [], 3)).toBeNull();
});
