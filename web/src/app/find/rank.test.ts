import { describe, expect, it } from "vitest";

import type { Item, Kind } from "./rank";
import { fit, rank } from "./rank";

const item = (kind: Kind, label: string, note = ""): Item => ({ kind, label, note });
const ITEMS = [
  item("page", "Ops", "Which ops take the time?"),
  item("page", "Op profile"),
  item("command", "Undo zoom", "Z"),
  item("step", "Step 7", "12 ms"),
  item("step", "Step 71"),
  item("op", "fusion.12", "jit_train"),
  item("op", "loop_fusion.3", "jit_train"),
  item("track", "XLA Ops", "TPU:0"),
  item("run", "gate-slower"),
];
const labels = (query: string): string[] => rank(query, ITEMS).map((one) => one.label);

describe("what is found", () => {
  it("is what is so called before what begins so, before what holds it", () => {
    expect(labels("ops").slice(0, 2)).toEqual(["Ops", "XLA Ops"]);
    expect(labels("step 7")).toEqual(["Step 7", "Step 71"]);
    expect(labels("fusion")).toEqual(["fusion.12", "loop_fusion.3"]);
  });
  it("holds every word, also one of the note or the kind", () => {
    expect(labels("fusion.12 train")).toEqual(["fusion.12"]);
    expect(labels("tpu:0")).toEqual(["XLA Ops"]);
    expect(labels("run slower")).toEqual(["gate-slower"]);
    expect(labels("fusion nothing")).toEqual([]);
  });
  it("takes signs for what they are", () => {
    expect(labels("fusion.1")).toEqual(["fusion.12"]);
    expect(labels("(")).toEqual([]);
    expect(fit(["."], item("op", "a.b"))).not.toBeNull();
  });
  it("is pages and commands before anything is typed", () => {
    expect(labels("  ")).toEqual(["Ops", "Op profile", "Undo zoom"]);
  });
  it("leaves room for other kinds", () => {
    const many = [...Array.from({ length: 50 }, (_, i) => item("op", `fusion.${i}`)), item("track", "fusion steps")];
    const found = rank("fusion", many);
    expect(found.filter((one) => one.kind === "op")).toHaveLength(8);
    expect(found.at(-1)?.kind).toBe("track");
  });
});
