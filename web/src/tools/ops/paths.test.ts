import { expect, it } from "vitest";

import type { Table } from "../../api/types";
import { groupings, leaves } from "./paths";

const table: Table = {
  id: "ops",
  title: "",
  columns: ["name", "self_ps", "module", "category", "framework_op", "source"].map((id) => ({
    id,
    label: id,
    unit: "",
    kind: "text",
    doc: "",
  })),
  rows: [
    ["fusion.1", 7, "jit_f", "fusion", "jit(f)/transpose(jvp(a/b))/dot", "train.py:12"],
    ["copy", 0, "jit_f", "copy", null, null],
    ["all-reduce", 3, "jit_f", null, null, null],
  ],
};

it("puts ops together in each way that the rows allow", () => {
  expect(groupings(table).map((one) => one.id)).toEqual(["program", "names", "source"]);
  expect(leaves(table, "program")).toEqual([
    { path: ["jit_f", "fusion", "fusion.1"], value: 7, leaf: 0 },
    { path: ["jit_f", "not known", "all-reduce"], value: 3, leaf: 2 },
  ]);
  expect(leaves(table, "names")[0]?.path).toEqual(["jit(f)", "transpose(jvp(a/b))", "dot", "fusion.1"]);
  expect(leaves(table, "source").map((one) => one.path)).toEqual([
    ["train.py", "line 12", "fusion.1"],
    ["not known", "all-reduce"],
  ]);
});

it("has nothing to put together without its columns", () => {
  const bare = { ...table, columns: table.columns.slice(0, 2) };
  expect(groupings(bare)).toEqual([]);
  expect(leaves(bare, "program").map((one) => one.path)).toEqual([["fusion.1"], ["all-reduce"]]);
});
