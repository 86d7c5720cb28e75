import { describe, expect, it } from "vitest";

import { columnIndex, isUnknown, labelOf, numberAt, valueText } from "./read";
import type { Table, Value } from "./types";

const share = (value: number | null): Value => ({
  value,
  unit: "1",
  kind: "share",
  status: value === null ? "unknown" : "derived",
  label: "",
  doc: "",
});

describe("reading", () => {
  const table: Table = {
    id: "ops",
    title: "Ops",
    columns: [
      { id: "op", label: "Op", unit: "", kind: "text", doc: "" },
      { id: "self_ps", label: "Self", unit: "ps", kind: "duration_ps", doc: "" },
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
  it("writes a value by its kind, and what is not known as a word", () => {
    expect(valueText(share(0.5))).toBe("50.0%");
    expect(valueText(share(null))).toBe("unknown");
    expect(valueText({ value: 12, unit: "1", kind: "int", status: "measured", label: "", doc: "" })).toBe("12");
    expect(isUnknown({ value: "unknown", unit: "", kind: "text", status: "derived", label: "", doc: "" })).toBe(true);
  });
  it("names a value that came without a label", () => {
    expect(labelOf("step_time_mean_ps", share(1))).toBe("Step time mean");
  });
});
