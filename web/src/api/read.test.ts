import { describe, expect, it } from "vitest";

import { columnIndex, labelOf, numberAt } from "./read";
import type { Table, Value } from "./types";

const share = (value: number | null): Value => ({ value, unit: "1", status: value === null ? "unknown" : "derived" });

describe("reading", () => {
  const table: Table = {
    id: "ops",
    title: "Ops",
    columns: [
      { id: "op", label: "Op", unit: "", kind: "text" },
      { id: "self_ps", label: "Self", unit: "ps", kind: "duration_ps" },
    ],
    rows: [["a", 5]],
  };
  it("takes the first column that exists", () => {
    expect(columnIndex(table, "self_time_ps", "self_ps")).toBe(1);
    expect(columnIndex(table, "absent")).toBe(-1);
    expect(numberAt(table.rows[0], 1)).toBe(5);
    expect(numberAt(table.rows[0], 0)).toBeNull();
    expect(numberAt(undefined, 0)).toBeNull();
  });
  it("names a value that came without a label", () => {
    expect(labelOf("step_time_mean_ps", share(1))).toBe("Step time mean");
  });
});
