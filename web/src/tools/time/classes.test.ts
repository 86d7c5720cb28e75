import { expect, it } from "vitest";

import type { Table } from "../../api/types";
import { CLASSES, classOf, partsOf } from "./classes";

const table: Table = {
  id: "classes",
  title: "",
  columns: ["step", "time_ps", "compute_ps", "communication_ps", "between_ps"].map((id) => ({
    id,
    label: id,
    unit: "ps",
    kind: "duration_ps",
    doc: "",
  })),
  rows: [
    [0, 10, 6, 4, 0],
    [1, 12, null, 4, 8],
  ],
};

it("takes the classes that have time, in the order of the stack", () => {
  expect(partsOf(table, table.rows[0]).map((part) => [part.of.id, part.ps])).toEqual([
    ["compute_ps", 6],
    ["communication_ps", 4],
  ]);
  expect(partsOf(table, table.rows[1]).map((part) => part.ps)).toEqual([4, 8]);
  expect(partsOf(table, undefined)).toEqual([]);
});

it("knows a class by its name, and gives no colour twice", () => {
  expect(classOf("compute")?.id).toBe("compute_ps");
  expect(classOf("something else")).toBeNull();
  expect(new Set(CLASSES.map((one) => one.colour)).size).toBe(CLASSES.length);
});

it("stacks what works below what waits, and what waits below idle time", () => {
  const order = ["working", "waiting", "idle"];
  const groups = CLASSES.map((one) => order.indexOf(one.group));
  expect(groups).toEqual([...groups].sort((a, b) => a - b));
  expect(CLASSES.filter((one) => one.outside).map((one) => one.id)).toEqual(["after_ps", "before_ps"]);
});
