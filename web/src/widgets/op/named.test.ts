import { expect, it } from "vitest";

import type { Column, Table } from "../../api/types";
import { hasNamesakes, rowKey, rowOf } from "./named";

const column = (id: string): Column => ({ id, label: id, unit: "", kind: "text", doc: "" });
const table: Table = {
  id: "ops",
  title: "",
  columns: ["name", "module"].map(column),
  rows: [
    ["fusion.1", "jit_f"],
    ["fusion.1", "jit_g"],
    ["copy", null],
  ],
};

it("tells ops of one name by their modules", () => {
  expect(rowKey(table, table.rows[1])).toBe("fusion.1 @ jit_g");
  expect(rowOf(table, "fusion.1 @ jit_g")).toBe(1);
  expect(rowOf(table, rowKey(table, table.rows[2]))).toBe(2);
});

it("notices namesakes", () => {
  expect(hasNamesakes(table)).toBe(true);
  expect(hasNamesakes({ ...table, rows: table.rows.slice(1) })).toBe(false);
});

it("finds by name alone where the module is another or not said", () => {
  expect(rowOf(table, "fusion.1")).toBe(0);
  expect(rowOf(table, "fusion.1 @ gone")).toBe(0);
  expect(rowOf(table, "absent")).toBe(-1);
  expect(rowOf(table, "")).toBe(-1);
});
