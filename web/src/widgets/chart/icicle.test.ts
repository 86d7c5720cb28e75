import { describe, expect, it } from "vitest";

import { boxes, branchAt, grow, neighbour, pathOf, pathText } from "./icicle";

const tree = grow("all", [
  { path: ["f", "fusion", "a"], value: 60, leaf: 0 },
  { path: ["f", "fusion", "b"], value: 20, leaf: 1 },
  { path: ["g", "copy", "c"], value: 19, leaf: 2 },
  { path: ["g", "copy", "d"], value: 0.5, leaf: 3 },
  { path: ["g", "copy", "e"], value: 0.5, leaf: 4 },
  { path: ["g", "copy", "none"], value: 0, leaf: 5 },
]);

describe("icicle", () => {
  it("adds parts up to the whole", () => {
    expect(tree.value).toBe(100);
    expect(tree.children.map((one) => [one.name, one.value])).toEqual([
      ["f", 80],
      ["g", 20],
    ]);
    expect(branchAt(tree, ["f", "fusion"]).children.map((one) => one.leaf)).toEqual([0, 1]);
    expect(branchAt(tree, ["f", "nothing"]).name).toBe("f");
  });
  it("gives widths by shares and puts the small ones together", () => {
    const placed = boxes(tree, 200, 2);
    expect(placed.filter((box) => box.level === 3).map((box) => [box.branch.name, box.left, box.width, box.rest])).toEqual([
      ["a", 0, 120, 0],
      ["b", 120, 40, 0],
      ["c", 160, 38, 0],
      ["2 others", 198, 2, 2],
    ]);
    expect(boxes(tree, 0, 2)).toEqual([]);
  });
  it("is walked by arrows", () => {
    const placed = boxes(tree, 200, 2);
    const named = (name: string): number => placed.findIndex((box) => box.branch.name === name);
    const to = (name: string, key: string) => placed[neighbour(placed, named(name), key)]?.branch.name;
    expect([to("a", "ArrowUp"), to("f", "ArrowDown"), to("b", "ArrowRight"), to("a", "ArrowLeft"), to("all", "ArrowUp")]).toEqual([
      "fusion",
      "fusion",
      "c",
      undefined,
      undefined,
    ]);
  });
  it("says two rows of one name are none in particular", () => {
    const twice = grow("all", [
      { path: ["x"], value: 1, leaf: 0 },
      { path: ["x"], value: 2, leaf: 1 },
    ]);
    expect(twice.children).toMatchObject([{ name: "x", value: 3, leaf: null }]);
  });
  it("has its path in the address", () => {
    for (const path of [[], ["jit_f", "a > b", "c"]]) expect(pathOf(pathText(path))).toEqual(path);
  });
});
