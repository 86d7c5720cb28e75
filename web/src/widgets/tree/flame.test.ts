import { describe, expect, it } from "vitest";

import type { TreeNode } from "../../api/types";
import { flame, neighbour } from "./flame";
import { flatten } from "./flat";

const node = (label: string, ps: number, children: TreeNode[] = []): TreeNode => ({ label, values: [ps], children });
const all = flatten({ nodes: [node("all", 100, [node("a", 60, [node("a1", 60)]), node("b", 39), node("c", 1)])] });

describe("flame", () => {
  it("gives width by size and leaves out what has no room", () => {
    expect(flame(all, 0, 0, 100).map(({ index, x, width, row }) => [all[index]?.node.label, x, width, row])).toEqual([
      ["all", 0, 100, 0],
      ["a", 0, 60, 1],
      ["a1", 0, 60, 2],
      ["b", 60, 39, 1],
    ]);
    expect(flame(all, 0, 0, 200)).toHaveLength(5);
  });
  it("starts at any node", () => {
    expect(flame(all, 1, 0, 300).map((box) => box.width)).toEqual([300, 300]);
    expect(flame(all, 9, 0, 300)).toEqual([]);
  });
  it("is walked with arrows", () => {
    const boxes = flame(all, 0, 0, 100);
    expect(neighbour(boxes, 0, "ArrowDown")).toBe(1);
    expect(neighbour(boxes, 1, "ArrowRight")).toBe(3);
    expect(neighbour(boxes, 3, "ArrowLeft")).toBe(1);
    expect(neighbour(boxes, 3, "ArrowUp")).toBe(0);
    expect(neighbour(boxes, 3, "ArrowDown")).toBe(3);
  });
});
