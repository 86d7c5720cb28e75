import { expect, it } from "vitest";

import type { Table } from "../../api/types";
import { arrange } from "./stacks";

function table(id: string, columns: number, rows: number): Table {
  return {
    id,
    title: id,
    columns: Array.from({ length: columns }, (_, i) => ({ id: `c${i}`, label: `c${i}`, unit: "", kind: "text" as const, doc: "" })),
    rows: Array.from({ length: rows }, () => Array.from({ length: columns }, () => "ten letters")),
  };
}

it("sets narrow neighbours side by side, wide ones alone, in order, and leaves out the empty", () => {
  const parts = arrange([
    table("a", 2, 9),
    table("b", 2, 2),
    table("empty", 2, 0),
    table("c", 2, 2),
    table("wide", 20, 3),
    table("d", 3, 1),
  ]);
  const shown = parts.map((part) =>
    part.kind === "wide" ? part.table.id : part.stacks.map((stack) => stack.map((one) => one.id).join("+")).join(" | "),
  );
  expect(shown).toEqual(["a | b+c", "wide", "d"]);
});
