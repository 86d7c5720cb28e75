import { describe, expect, it } from "vitest";

import { PROVENANCE, SCOPE } from "../../api/made.testdata";
import type { Column, Report } from "../../api/types";
import { HEATS, centreOf, heat, heatFrom, layerOf, pathOf, readGraph } from "./graph";

describe("layers by name", () => {
  it("end at the first numbered scope", () => {
    expect(layerOf("jit(train)/jit(main)/model/layers_3/attn/dot_general")).toBe("model/layers_3");
    expect(layerOf("jit(f)/transformer/block.11/mlp/add")).toBe("transformer/block.11");
    expect(layerOf("jit(f)/dot_general")).toBe("");
    expect(layerOf("")).toBe("");
  });
  it("do not take the op's own number for one", () => {
    expect(layerOf("jit(f)/model/conv2")).toBe("");
  });
});

describe("the colour scale", () => {
  it("tells nothing from unknown", () => {
    expect(heat(null, 10)).toBe(-1);
    expect(heat(0, 10)).toBe(0);
    expect(heat(5, 0)).toBe(0);
  });
  it("reaches its ends", () => {
    expect(heat(10, 10)).toBe(HEATS);
    expect(heat(1e-9, 10)).toBe(1);
    for (let step = 2; step <= HEATS; step += 1) {
      expect(heat(heatFrom(step, 10) * 1.001, 10)).toBe(step);
      expect(heat(heatFrom(step, 10) * 0.999, 10)).toBe(step - 1);
    }
  });
});

describe("a report", () => {
  const column = (id: string): Column => ({ id, label: id, unit: "", kind: "text", doc: "" });
  const report = (values: Record<string, string | number | null>): Report => ({
    analysis: "hlo graph",
    version: 1,
    scope: SCOPE,
    provenance: PROVENANCE,
    quality: [],
    values: Object.fromEntries(
      Object.entries(values).map(([id, value]) => [id, { value, unit: "", kind: "text", status: "measured", label: "", doc: "" }]),
    ),
    tables: [
      {
        id: "nodes",
        title: "",
        columns: ["name", "distance", "self_ps", "parent", "layer"].map(column),
        rows: [
          ["far", 2, 7, null, null],
          ["near", 0, null, "fusion.1", "layer 3"],
          ["between", 1, 5, null, null],
        ],
      },
      { id: "edges", title: "", columns: ["from", "to", "kind"].map(column), rows: [["near", "between", "data"]] },
    ],
    trees: [],
    series: [],
    findings: [],
    texts: [],
    passed: null,
    gate: null,
  });
  it("gives nodes and edges", () => {
    const graph = readGraph(report({}));
    expect(graph.nodes[1]).toMatchObject({ name: "near", timePs: null, caller: "fusion.1", layer: "layer 3", row: 1 });
    expect(graph.edges).toEqual([{ from: "near", to: "between" }]);
    expect(readGraph({ ...report({}), tables: [] }).nodes).toEqual([]);
  });
  it("says what stands in the middle", () => {
    const graph = readGraph(report({}));
    expect(centreOf(report({ node: "between" }), graph, "far")).toBe("far");
    expect(centreOf(report({ node: "between" }), graph, "gone")).toBe("between");
    expect(centreOf(report({}), graph, "")).toBe("far");
  });
  it("tells no path from no question", () => {
    const graph = readGraph(report({}));
    expect(pathOf(report({ path_steps: 2 }), graph, "far")).toEqual(["near", "between", "far"]);
    expect(pathOf(report({ path_steps: null }), graph, "far")).toBeNull();
    expect(pathOf(report({ path_steps: null }), graph, "")).toEqual([]);
  });
});
