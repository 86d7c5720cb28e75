import { describe, expect, it } from "vitest";

import type { StepSpan } from "../../api/timeline";
import type { Table } from "../../api/types";
import { stepsShown, withSteps } from "./perStep";

const step = (number: number, length: number, kind: string): StepSpan =>
  ({ number, name: "", start_ps: 0, end_ps: length, class: kind, devices: 1 }) as StepSpan;
const ops = (rows: Table["rows"]): Table => ({
  id: "ops",
  title: "",
  columns: ["name", "self_ps", "self_share", "devices", "module"].map((id) => ({ id, label: id, unit: "", kind: "text", doc: "" })),
  rows,
});

describe("ops by step", () => {
  it("are of the usual step and of the longest one that is whole", () => {
    const steps = [step(0, 900, "warm-up"), step(1, 10, "steady"), step(2, 11, "steady"), step(3, 30, "outlier"), step(4, 12, "steady")];
    expect(stepsShown(steps)?.usual.number).toBe(2);
    expect(stepsShown(steps)?.longest?.number).toBe(3);
    expect(stepsShown([step(1, 10, "steady")])?.longest).toBeNull();
    expect(stepsShown([step(1, 10, "unknown")])).toBeNull();
  });
  it("stand behind the share, each time that of one device; an op that a step did not run has none", () => {
    const table = ops([
      ["a", 100, 0.5, 2, "m"],
      ["b", 100, 0.5, 2, "m"],
    ]);
    const wide = withSteps(table, [{ number: 4, what: "x", ops: ops([["a", 10, 1, 2, "m"]]) }]);
    expect(wide.columns.map((column) => column.id)).toEqual(["name", "self_ps", "self_share", "step_4_ps", "devices", "module"]);
    expect(wide.rows.map((row) => row[3])).toEqual([5, null]);
    expect(withSteps(table, [])).toBe(table);
  });
});
