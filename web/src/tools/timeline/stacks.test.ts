import { expect, it } from "vitest";

import type { StackNode } from "../../api/timeline";
import { treeOf } from "./stacks";

const node = (name: string, parent: number | null, total_ps: number): StackNode => ({ name, parent, total_ps, self_ps: 0, count: 1 });

it("hangs what lies inside on what it lies in, with the server's own values", () => {
  const tree = treeOf([node("while", null, 150), node("dot", 0, 60), node("copy", null, 10), node("copy", 1, 5)], "all", 160);
  expect([tree.value, tree.children.map((one) => [one.name, one.value, one.leaf])]).toEqual([
    160,
    [
      ["while", 150, null],
      ["copy", 10, 2],
    ],
  ]);
  expect(tree.children[0]?.children[0]?.path).toEqual(["while", "dot"]);
  expect(tree.children[0]?.children[0]?.children[0]?.leaf).toBe(3);
});

it("takes one name's tree as the whole", () => {
  const tree = treeOf([node("dot", null, 60), node("copy", 0, 5)], "dot", 60);
  expect([tree.name, tree.value, tree.children.map((one) => one.name)]).toEqual(["dot", 60, ["copy"]]);
  expect(treeOf([], "all", 0).children).toEqual([]);
});
