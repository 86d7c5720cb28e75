import { expect, it } from "vitest";

import type { Column, Table } from "../../api/types";
import { changesOf, crossings, examplesOf, partColour, stretchesOf, stripOf, toggled } from "./strip";

const table: Table = {
  id: "chain",
  title: "",
  columns: ["start_ps", "time_ps", "device", "part", "what"].map((id): Column => ({ id, label: id, unit: "", kind: "text", doc: "" })),
  rows: [
    [100, 50, "w-1/TPU:10", "compute", "fusion.1"],
    [150, 20, "w-1/TPU:2", "exposed communication", null],
    [170, 30, "w-1/TPU:2", "compute", "fusion.2"],
    [null, 5, "w-1/TPU:2", "compute", "without a place"],
  ],
};

it("places stretches by device and time", () => {
  const stretches = stretchesOf(table);
  expect(stretches.map((one) => one.row)).toEqual([0, 1, 2]);
  expect(stripOf(stretches)).toEqual({ devices: ["w-1/TPU:2", "w-1/TPU:10"], start: 100, end: 200 });
  expect(crossings(stretches)).toEqual([{ at: 150, from: "w-1/TPU:10", to: "w-1/TPU:2" }]);
  expect([stretchesOf(null), stripOf([])]).toEqual([[], null]);
});

it("has the colours of the classes of time", () => {
  expect(partColour("compute")).toBe("var(--m-compute)");
  expect(partColour("something else")).toBe("var(--unknown)");
});

it("adds and takes away changes", () => {
  expect(changesOf("a free; ; b x0.7 ")).toEqual(["a free", "b x0.7"]);
  expect(toggled("", "a free")).toBe("a free");
  expect(toggled("a free", "b x0.7")).toBe("a free; b x0.7");
  expect(toggled("a free; b x0.7", "a free")).toBe("b x0.7");
});

it("finds examples in the description", () => {
  expect(examplesOf("what: `all-gather free`, `fusion.12 x0.7`; several with `;` between")).toEqual(["all-gather free", "fusion.12 x0.7"]);
});
