import { expect, it } from "vitest";

import { column, report, table } from "../../api/made.testdata";
import { changesTable, classChanges, isAlike, opChanges, spreadOf, stepOf, usualOf } from "./why";

const steps = report({
  tables: [
    table(
      "steps",
      [column("step", "int"), "class", column("duration_ps", "duration_ps")],
      [
        [0, "warm-up", 900],
        [1, "steady", 100],
        [2, "steady", 102],
        [3, "outlier", 150],
        [4, "steady", 104],
      ],
    ),
    table(
      "classes",
      [
        column("step", "int"),
        column("compute_ps", "duration_ps"),
        column("communication_ps", "duration_ps"),
        column("inside_ps", "duration_ps"),
      ],
      [
        [2, 80, 20, 2],
        [3, 80, 65, 5],
      ],
    ),
  ],
});

const ops = (rows: [string, number, number][]) =>
  report({
    tables: [
      table(
        "ops",
        ["name", column("self_ps", "duration_ps"), column("devices", "int"), "module"],
        rows.map((row) => [...row, "m"]),
      ),
    ],
  });

it("takes the steady step of middle length, which is never the step itself", () => {
  expect(usualOf(steps, 3)?.number).toBe(2);
  expect(usualOf(steps, 2)?.number).toBe(1);
  expect(usualOf(report(), 3)).toBeNull();
  expect(stepOf(steps, 3)?.ps).toBe(150);
  expect(stepOf(steps, 9)).toBeNull();
});

it("says which classes of time changed, the largest first", () => {
  const changes = classChanges(steps, 3, 2);
  expect(changes.map((one) => [one.of.id, one.ps])).toEqual([
    ["communication_ps", 45],
    ["inside_ps", 3],
  ]);
  expect(classChanges(steps, 3, 1)).toEqual([]);
});

it("puts the op that grew most first, and names what only one step ran", () => {
  const changes = opChanges(
    ops([
      ["all-reduce.1", 260, 4],
      ["fusion.1", 40, 4],
      ["save", 20, 1],
    ]),
    ops([
      ["all-reduce.1", 80, 4],
      ["fusion.1", 44, 4],
      ["load", 4, 4],
    ]),
  );
  expect(changes.map((op) => [op.name, op.ps, op.usualPs])).toEqual([
    ["all-reduce.1", 65, 20],
    ["save", 20, null],
    ["fusion.1", 10, 11],
    ["load", null, 1],
  ]);
  const shown = changesTable(changes, 3, 2, 1);
  expect(shown.rows.map((row) => row.slice(0, 4))).toEqual([
    ["all-reduce.1", 45, 65, 20],
    ["load", -1, null, 1],
  ]);
});

it("tells one slow op from all ops slower alike", () => {
  const usual = Array.from({ length: 10 }, (_, i): [string, number, number] => [`fusion.${i}`, 100 + i, 1]);
  const alike = usual.map(([name, ps, devices], i): [string, number, number] => [name, ps * (1.1 + 0.001 * i), devices]);
  const one = usual.map(([name, ps, devices], i): [string, number, number] => [name, i === 3 ? ps * 4 : ps, devices]);
  const spread = (rows: [string, number, number][]) => spreadOf(opChanges(ops(rows), ops(usual)));
  expect(isAlike(spread(alike) ?? { middle: 1, low: 1, high: 1 })).toBe(true);
  expect(isAlike(spread(one) ?? { middle: 9, low: 9, high: 9 })).toBe(false);
  expect(spread(usual.slice(0, 3))).toBeNull();
});
