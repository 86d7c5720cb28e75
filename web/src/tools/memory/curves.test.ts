import { expect, it } from "vitest";

import type { Series } from "../../api/types";
import { allocatorsOf } from "./curves";

const series = (id: string, label: string, unit: string): Series => ({
  id,
  title: `${label}, ${id}`,
  x: { label: "Time", unit: "ps" },
  y: { label, unit },
  points: [[0, 1]],
});

it("draws what one allocator has in one unit together", () => {
  const found = allocatorsOf([
    series("allocated:vm:0/tpu", "Allocated", "B"),
    series("reserved:vm:0/tpu", "Reserved", "B"),
    series("fragmentation:vm:0/tpu", "Fragmentation", "1"),
    series("allocated:vm:1/tpu", "Allocated", "B"),
  ]);
  expect(found.map((one) => one.name)).toEqual(["vm:0/tpu", "vm:1/tpu"]);
  expect(found[0]?.charts.map((chart) => ("lines" in chart ? chart.lines.map((line) => line.label) : chart.y.label))).toEqual([
    ["Allocated", "Reserved"],
    "Fragmentation",
  ]);
  expect(found[1]?.charts[0]).toHaveProperty("points", [[0, 1]]);
  expect(allocatorsOf([])).toEqual([]);
});
