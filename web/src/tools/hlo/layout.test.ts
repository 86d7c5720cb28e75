import { describe, expect, it } from "vitest";

import { layOut } from "./layout";
import type { LayoutQuestion, PlacedNode } from "./placed";
import { LARGEST_SCALE, centrePose, edgePath, fitPose, revealPose, towards, zoomPose } from "./placed";

const sized = (id: string, inside = "") => ({ id, width: 100, height: 40, inside });
const edge = (from: string, to: string) => ({ from, to, count: 1 });
const diamond: LayoutQuestion = {
  nodes: ["a", "b", "c", "d"].map((id) => sized(id)),
  edges: [edge("a", "b"), edge("a", "c"), edge("b", "d"), edge("c", "d")],
};

const apart = (a: PlacedNode, b: PlacedNode): boolean =>
  a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y;

describe("layOut", () => {
  it("puts users below, and nothing over anything", () => {
    const { nodes, edges, width, height } = layOut(diamond);
    const [a, b, c, d] = nodes as [PlacedNode, PlacedNode, PlacedNode, PlacedNode];
    expect(a.y + a.height).toBeLessThan(b.y);
    expect(b.y).toBe(c.y);
    expect(d.y).toBeGreaterThan(c.y + c.height);
    for (const one of nodes) for (const other of nodes) expect(one === other || apart(one, other)).toBe(true);
    for (const one of nodes) expect(one.x >= 0 && one.x + one.width <= width && one.y + one.height <= height).toBe(true);
    expect(edges.every((one) => one.points.length >= 2)).toBe(true);
  });
  it("frames what is unfolded", () => {
    const { nodes, frames } = layOut({
      nodes: [sized("p"), sized("x", "f"), sized("y", "f"), sized("f"), sized("z")],
      edges: [edge("p", "x"), edge("x", "y"), edge("y", "f"), edge("p", "z"), edge("z", "f")],
    });
    const frame = frames[0] as PlacedNode;
    for (const id of ["x", "y"]) {
      const node = nodes.find((one) => one.id === id) as PlacedNode;
      expect(node.x >= frame.x && node.x + node.width <= frame.x + frame.width).toBe(true);
      expect(node.y >= frame.y && node.y + node.height <= frame.y + frame.height).toBe(true);
    }
    expect(apart(nodes.find((one) => one.id === "z") as PlacedNode, frame)).toBe(true);
  });
  it("takes graphs with nothing in them, with circles, and with 500 nodes in a few seconds", () => {
    expect(layOut({ nodes: [], edges: [] }).nodes).toEqual([]);
    expect(layOut({ nodes: [sized("a"), sized("b")], edges: [edge("a", "b"), edge("b", "a")] }).edges).toHaveLength(2);
    const nodes = Array.from({ length: 500 }, (_, i) => sized(`n${i}`));
    const edges = nodes
      .slice(1)
      .flatMap((_, i) => [edge(`n${Math.floor(i * 0.9)}`, `n${i + 1}`), ...(i > 20 ? [edge(`n${i - 17}`, `n${i + 1}`)] : [])]);
    expect(layOut({ nodes, edges }).nodes).toHaveLength(500);
  }, 60_000);
});

describe("the drawing", () => {
  it("is walked by arrows", () => {
    const { nodes } = layOut(diamond);
    const down = towards(nodes, "a", "down") ?? "";
    expect(["b", "c"]).toContain(down);
    expect(towards(nodes, down, "up")).toBe("a");
    expect(towards(nodes, "a", "up")).toBeNull();
    expect(towards(nodes, "gone", "up")).toBe("a");
  });
  it("keeps the point under the pointer when it zooms", () => {
    const pose = zoomPose({ x: 10, y: 20, scale: 1 }, 2, 110, 70);
    expect(pose).toEqual({ scale: 2, x: -90, y: -30 });
    expect(zoomPose(pose, 100, 0, 0).scale).toBe(LARGEST_SCALE);
  });
  it("fits, centres and reveals", () => {
    const window = { width: 400, height: 300 };
    expect(fitPose({ width: 100, height: 100 }, window)).toEqual({ scale: 1, x: 150, y: 100 });
    expect(fitPose({ width: 3760, height: 100 }, window).scale).toBeCloseTo(0.1);
    const node = { id: "a", x: 1000, y: 0, width: 100, height: 40 };
    expect(centrePose(node, 1, window)).toEqual({ scale: 1, x: -850, y: 130 });
    const pose = revealPose({ x: 0, y: 50, scale: 1 }, node, window);
    expect(pose).toEqual({ scale: 1, x: -716, y: 50 });
    expect(revealPose(pose, node, window)).toEqual(pose);
  });
  it("draws soft edges", () => {
    expect(edgePath([])).toBe("");
    expect(
      edgePath([
        [0, 0],
        [0, 10],
        [10, 20],
      ]),
    ).toBe("M0.0 0.0Q0.0 10.0 5.0 15.0L10.0 20.0");
  });
});
