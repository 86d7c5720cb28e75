import { expect, it } from "vitest";

import type { Column } from "../../api/types";
import { BY, NAMELESS, bufferRow, byColumn, instructionOf, partsBy, rowsOf } from "./parts";

const column = (id: string): Column => ({ id, label: id, unit: "", kind: "text", doc: "" });
const table = {
  id: "buffers",
  title: "",
  columns: ["instruction", "bytes", "opcode", "scope"].map(column),
  rows: [
    ["fusion.1{0}", 100, "fusion", "model/attn"],
    ["fusion.1{1}", 50, "fusion", null],
    ["p", 70, "parameter", ""],
  ],
};

it("sums to the whole, by any column", () => {
  expect(partsBy(table, byColumn(table, "opcode"))).toEqual([
    { name: "fusion", value: 150 },
    { name: "parameter", value: 70 },
  ]);
  expect(partsBy(table, byColumn(table, "scope"))).toEqual([
    { name: NAMELESS, value: 120 },
    { name: "model/attn", value: 100 },
  ]);
  expect(BY.map((by) => byColumn(table, by.id))).toEqual([-1, -1, 3, -1, 2, -1]);
});

it("keeps the rows of a part, the nameless too", () => {
  expect(rowsOf(table, 3, NAMELESS).rows).toHaveLength(2);
  expect(rowsOf(table, 2, "fusion").rows.map((row) => row[1])).toEqual([100, 50]);
});

it("finds the buffer of an instruction, whatever the path", () => {
  expect(instructionOf("fusion.1{0}{2}")).toBe("fusion.1");
  expect(instructionOf("%copy-start.3 {1,0}")).toBe("copy-start.3");
  expect(bufferRow(table, "fusion.1{1}")).toBe(1);
  expect(bufferRow(table, "fusion.1")).toBe(0);
  expect(bufferRow(table, "absent")).toBe(-1);
  expect(bufferRow(table, "")).toBe(-1);
});
