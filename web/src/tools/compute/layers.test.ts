import { expect, it } from "vitest";

import type { Column, Table } from "../../api/types";
import { layerStacks, phaseColour } from "./layers";

const table: Table = {
  id: "layers",
  title: "",
  columns: ["layer", "self_ps", "forward_ps", "backward_ps"].map((id): Column => ({ id, label: id, unit: "", kind: "text", doc: "" })),
  rows: [
    ["layer_10", 30, 10, 20],
    ["layer_2", 30, 10, null],
    ["empty", null, null, null],
  ],
};

it("puts layers in their own order, with what no phase takes", () => {
  expect(layerStacks(table).map((one) => [one.label, one.parts.map((part) => [part.name, part.value])])).toEqual([
    [
      "layer_2",
      [
        ["forward", 10],
        ["other", 20],
      ],
    ],
    [
      "layer_10",
      [
        ["forward", 10],
        ["backward", 20],
      ],
    ],
  ]);
  expect(layerStacks(null)).toEqual([]);
});

it("colours a phase alike wherever it stands", () => {
  expect(phaseColour("forward")).not.toBe(phaseColour("backward"));
  expect(phaseColour("unknown")).toBe("var(--unknown)");
});
