import { expect, it } from "vitest";

import type { Table } from "../api/types";
import { drawn, firstOf, said } from "./bars";

const table: Table = {
  id: "kinds",
  title: "",
  columns: [
    { id: "kind", label: "Kind", unit: "", kind: "text", doc: "" },
    { id: "exposed_ps", label: "Exposed", unit: "ps", kind: "duration_ps", doc: "" },
    { id: "hidden_ps", label: "Hidden", unit: "ps", kind: "duration_ps", doc: "" },
    { id: "share", label: "Share", unit: "1", kind: "share", doc: "" },
  ],
  rows: [
    ["all-reduce", 2e9, 1e9, 0.5],
    [null, 1e9, null, null],
    ["unknown of all", null, null, 0.1],
  ],
};
const spec = {
  name: ["op", "kind"],
  parts: [
    { id: "exposed_ps", name: "exposed", colour: "a" },
    { id: "hidden_ps", name: "hidden", colour: "b" },
    { id: "absent", name: "absent", colour: "c" },
  ],
};

it("draws the parts that are known, and no row without one", () => {
  const bars = drawn(table, spec);
  expect(bars.full).toBe(3e9);
  expect(bars.rows.map((row) => [row.name, row.parts.map((part) => part.name), row.text])).toEqual([
    ["all-reduce", ["exposed", "hidden"], "3.000 ms"],
    ["not named", ["exposed"], "1.000 ms"],
  ]);
});

it("says how many it leaves out", () => {
  const bars = drawn(table, { ...spec, most: 1 });
  expect(firstOf(bars, "kinds")).toBe("first 1 of 2 kinds; ");
  expect(firstOf(drawn(table, spec), "kinds")).toBe("");
});

it("draws nothing without its columns", () => {
  expect(drawn(null, spec).rows).toEqual([]);
  expect(drawn(table, { ...spec, name: ["absent"] }).rows).toEqual([]);
  expect(drawn({ ...table, columns: table.columns.slice(0, 1) }, spec).rows).toEqual([]);
});

it("writes cells side by side", () => {
  expect(said(table, table.rows[0] ?? [], "exposed_ps", "share", "absent")).toBe("2.000 ms · 50.0%");
  expect(said(table, table.rows[1] ?? [], "hidden_ps", "share")).toBe("");
});
