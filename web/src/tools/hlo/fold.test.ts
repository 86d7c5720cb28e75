import { describe, expect, it } from "vitest";

import type { FoldOptions } from "./fold";
import { fold, follows, openKeys, sumKnown, toggled } from "./fold";
import type { Graph, GraphNode } from "./graph";

const node = (name: string, more: Partial<GraphNode> = {}): GraphNode => ({
  name,
  opcode: name.split(".")[0] ?? "",
  shape: "f32[8]",
  computation: "main",
  caller: "",
  children: 0,
  layer: "",
  timePs: null,
  flops: null,
  bytes: null,
  row: 0,
  ...more,
});

const options = (more: Partial<FoldOptions> = {}): FoldOptions => ({ layers: true, open: new Set(), keep: new Set(), ...more });

const fused: Graph = {
  nodes: [
    node("p"),
    node("add.1", { caller: "fusion.1", computation: "fused", flops: 3 }),
    node("mul.1", { caller: "fusion.1", computation: "fused", flops: 4 }),
    node("fusion.1", { flops: 7, timePs: 100, children: 5 }),
    node("out"),
  ],
  edges: [
    { from: "p", to: "fusion.1" },
    { from: "p", to: "add.1" },
    { from: "add.1", to: "mul.1" },
    { from: "fusion.1", to: "out" },
  ],
};

describe("fusions", () => {
  it("hold what they are made of, and count it once", () => {
    const { nodes, edges } = fold(fused, options());
    expect(nodes.map((one) => one.id)).toEqual(["p", "fusion.1", "out"]);
    const fusion = nodes[1];
    expect(fusion).toMatchObject({ folded: true, note: "fusion of 5", flops: 7, timePs: 100 });
    expect(fusion?.members[0]?.name).toBe("fusion.1");
    expect(edges).toEqual([
      { from: "p", to: "fusion.1", count: 2 },
      { from: "fusion.1", to: "out", count: 1 },
    ]);
  });
  it("unfold when asked, or when what is kept is inside", () => {
    for (const how of [options({ open: new Set(["fusion.1"]) }), options({ keep: new Set(["mul.1"]) })]) {
      const { nodes, edges } = fold(fused, how);
      expect(nodes.map((one) => [one.id, one.inside])).toEqual([
        ["p", ""],
        ["add.1", "fusion.1"],
        ["mul.1", "fusion.1"],
        ["fusion.1", ""],
        ["out", ""],
      ]);
      expect(edges).toHaveLength(4);
    }
  });
  it("fold through several levels, and survive a circle", () => {
    const deep = { nodes: [node("while"), node("call", { caller: "while" }), node("x", { caller: "call" })], edges: [] };
    expect(fold(deep, options()).home.get("x")).toBe("while");
    expect(fold(deep, options({ open: new Set(["while"]) })).home.get("x")).toBe("call");
    const circle = { nodes: [node("a", { caller: "b" }), node("b", { caller: "a" })], edges: [] };
    expect(fold(circle, options()).nodes.length).toBeGreaterThan(0);
  });
});

/** Twelve layers of a dot and an add each, the last of another shape. */
const stack: Graph = (() => {
  const nodes: GraphNode[] = [node("in")];
  const edges: { from: string; to: string }[] = [];
  let before = "in";
  for (let i = 0; i < 12; i += 1) {
    const more = { layer: `layers_${i}`, ...(i === 11 ? { shape: "f32[9]" } : {}) };
    nodes.push(node(`dot.${i}`, { ...more, timePs: 10 }), node(`add.${i}`, { ...more, timePs: 1 }));
    edges.push({ from: before, to: `dot.${i}` }, { from: `dot.${i}`, to: `add.${i}` });
    before = `add.${i}`;
  }
  return { nodes, edges };
})();

describe("layers", () => {
  it("of one make merge, of another do not", () => {
    const { nodes, edges } = fold(stack, options());
    expect(nodes.map((one) => [one.id, one.times, one.label, one.timePs])).toEqual([
      ["in", 1, "in", null],
      ["layers:layers_0", 11, "layers_0 … layers_10", 121],
      ["layer:layers_11", 1, "layers_11", 11],
    ]);
    expect(nodes[1]?.note).toBe("2 instructions each");
    expect(edges).toEqual([
      { from: "in", to: "layers:layers_0", count: 1 },
      { from: "layers:layers_0", to: "layer:layers_11", count: 1 },
    ]);
  });
  it("merge with their neighbours only", () => {
    expect(follows("layer 9", "layer 10")).toBe(true);
    expect(["layer 11", "layer 9", "block 10", "layer"].some((name) => follows("layer 9", name))).toBe(false);
    const kept = fold(stack, options({ keep: new Set(["dot.5"]) }));
    expect(kept.nodes.filter((one) => one.kind === "layers").map((one) => [one.label, one.times])).toEqual([
      ["layers_0 … layers_4", 5],
      ["layers_6 … layers_10", 5],
    ]);
  });
  it("open in two steps", () => {
    const apart = fold(stack, options({ open: new Set(["layers:layers_0"]) }));
    expect(apart.nodes).toHaveLength(13);
    const one = fold(stack, options({ open: new Set(["layers:layers_0", "layer:layers_3"]) }));
    expect(one.nodes).toHaveLength(14);
    expect(one.home.get("dot.3")).toBe("dot.3");
  });
  it("stay open around what the graph is about, and can be left alone", () => {
    expect(fold(stack, options({ keep: new Set(["dot.5"]) })).home.get("add.5")).toBe("add.5");
    expect(fold(stack, options({ layers: false })).nodes).toHaveLength(25);
  });
});

it("keeps the address' list of what is unfolded", () => {
  expect(toggled(openKeys("a,b"), "a")).toBe("b");
  expect(toggled(openKeys(undefined), "a")).toBe("a");
});

it("tells a sum of nothing from nothing", () => {
  expect(sumKnown([null, null])).toBeNull();
  expect(sumKnown([null, 0])).toBe(0);
});
