import { describe, expect, it } from "vitest";

import type { Column, TreeNode } from "../../api/types";
import { ancestorsOf, childrenOf, firstWithSeveral, flatten, openAtFirst, search, sizeColumn, visible } from "./flat";

const columns: Column[] = [
  { id: "kind", label: "What", unit: "", kind: "text", doc: "" },
  { id: "self_ps", label: "Time", unit: "ps", kind: "duration_ps", doc: "" },
];
const node = (label: string, ps: number, children: TreeNode[] = [], kind = "op"): TreeNode => ({ label, values: [kind, ps], children });
const tree = {
  nodes: [
    node("all", 10, [node("jit_f", 7, [node("dot.9", 3), node("dot.10", 4)]), node("jit_g", 3, [node("dot.9", 3, [], "custom-call")])]),
  ],
};
const all = flatten(tree);
const labels = (rows: number[]): (string | undefined)[] => rows.map((row) => all[row]?.node.label);

describe("a flat tree", () => {
  it("knows parents, children and paths", () => {
    expect(all.map((one) => one.path)).toEqual([
      "all",
      "all > jit_f",
      "all > jit_f > dot.9",
      "all > jit_f > dot.10",
      "all > jit_g",
      "all > jit_g > dot.9",
    ]);
    expect(childrenOf(all, -1)).toEqual([0]);
    expect(childrenOf(all, 0)).toEqual([1, 4]);
    expect(ancestorsOf(all, 5)).toEqual([4, 0]);
    expect(sizeColumn(columns)).toBe(1);
  });
  it("goes down to the first node with several parts", () => {
    const deep = flatten({ nodes: [node("all", 3, [node("jit_f", 3, [node("a", 1), node("b", 2)])])] });
    expect(firstWithSeveral(deep, 0)).toBe(1);
    expect(firstWithSeveral(deep, 2)).toBe(2);
    const line = flatten({ nodes: [node("all", 3, [node("jit_f", 3, [node("a", 3)])])] });
    expect(firstWithSeveral(line, 0)).toBe(1);
  });
  it("tells siblings of one name apart", () => {
    expect(flatten({ nodes: [node("a", 1), node("a", 1)] }).map((one) => one.path)).toEqual(["a", "a #2"]);
  });
  it("shows what is open, in the order asked for", () => {
    expect(visible(all, columns, new Set(), null, null)).toEqual([0]);
    const open = new Set([0, 1]);
    expect(labels(visible(all, columns, open, null, null))).toEqual(["all", "jit_f", "dot.9", "dot.10", "jit_g"]);
    expect(labels(visible(all, columns, open, null, { column: "self_ps", descending: true }))).toEqual([
      "all",
      "jit_f",
      "dot.10",
      "dot.9",
      "jit_g",
    ]);
    expect(labels(visible(all, columns, open, null, { column: "label", descending: true }))).toEqual([
      "all",
      "jit_g",
      "jit_f",
      "dot.10",
      "dot.9",
    ]);
  });
  it("opens down to what is found, by label or by words", () => {
    const found = search(all, "DOT.9");
    expect(labels(visible(all, columns, new Set(), found, null))).toEqual(["all", "jit_f", "dot.9", "jit_g", "dot.9"]);
    expect(search(all, "dot custom")?.hits).toEqual(new Set([5]));
    expect(search(all, "  ")).toBeNull();
    expect(visible(all, columns, new Set(), search(all, "nothing"), null)).toEqual([]);
  });
  it("opens what is large at first", () => {
    expect(openAtFirst(all, 1)).toEqual(new Set([0, 1, 4]));
  });
});
