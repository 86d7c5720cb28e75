import { describe, expect, it } from "vitest";

import type { Column, TreeNode } from "../../api/types";
import { leads, opOf } from "./links";

const ids = ["kind", "module", "program_id", "source"];
const columns: Column[] = ids.map((id): Column => ({ id, label: id, unit: "", kind: "text", doc: "" }));
const node = (label: string, ...values: (string | null)[]): TreeNode => ({ label, values, children: [] });
const pages = new Set(["ops", "hlo", "timeline", "source", "op-profile"]);

describe("leads", () => {
  it("takes an op to its row, its graph, its events and its line", () => {
    const all = leads(columns, node("fusion.1", "op", "jit_f", "7", "/a/m.py:12:3"), pages);
    expect(all.map((lead) => [lead.to.page, lead.to.view])).toEqual([
      ["ops", { sel: "fusion.1 @ jit_f" }],
      ["hlo", { module: "jit_f(7)", node: "fusion.1", tab: "graph" }],
      ["timeline", { q: "fusion.1" }],
      ["source", { at: "/a/m.py", line: "12" }],
    ]);
  });
  it("says nothing of what is not known or not there", () => {
    expect(leads(columns, node("MemcpyH2D", "op", null, null, null), new Set(["ops", "hlo"])).map((lead) => lead.to.view)).toEqual([
      { sel: "MemcpyH2D" },
    ]);
    expect(leads(columns, node("idle", "idle", null, null, null), pages)).toEqual([]);
  });
  it("narrows to a program", () => {
    const all = leads(columns, node("jit_f", "program", "jit_f", "7", null), pages);
    expect(all.at(-1)?.to).toEqual({ page: "op-profile", scope: { modules: "jit_f" } });
  });
  it("knows the op that a node is, and none where it stands for more", () => {
    expect(opOf(columns, node("fusion.1", "op", "jit_f", "7", null))).toEqual({ name: "fusion.1", module: "jit_f(7)" });
    expect(opOf(columns, node("MemcpyH2D", "op", null, null, null))).toEqual({ name: "MemcpyH2D", module: "" });
    expect(opOf(columns, node("jit_f", "program", "jit_f", "7", null))).toBeNull();
  });
});
