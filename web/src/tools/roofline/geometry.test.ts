import { describe, expect, it } from "vitest";

import type { Table } from "../../api/types";
import { attainable, domains, radius, roofPoints } from "./geometry";

const roof = { peakFlopRate: 100e12, peakByteRate: 1e12 };
const column = (id: string) => ({ id, label: id, unit: "", kind: "float" });

describe("the roof", () => {
  it("is the lower of the two limits", () => {
    expect(attainable(roof, 10)).toBe(10e12);
    expect(attainable(roof, 1000)).toBe(100e12);
    expect(attainable({ peakFlopRate: null, peakByteRate: 1 }, 1)).toBeNull();
  });
});

describe("points", () => {
  const table: Table = {
    id: "ops",
    title: "",
    columns: [column("op"), column("operational_intensity"), column("flop_rate"), column("self_ps"), column("bound_by")],
    rows: [
      ["dot", 50, 20e12, 900, "compute"],
      ["copy", 0, 0, 100, "memory"],
      ["custom", null, null, 100, null],
    ],
  };
  it("leave out what a log axis cannot show", () => {
    expect(roofPoints(table, ["bound_by"])).toEqual([{ row: 0, name: "dot", intensity: 50, rate: 20e12, timePs: 900, group: "compute" }]);
  });
  it("fit with the ridge, with room to spare", () => {
    const { x, y } = domains(roofPoints(table, []), roof);
    expect(x).toEqual([1, 400]);
    expect(y[0]).toBeLessThan(20e12);
    expect(y[1]).toBeGreaterThan(100e12);
    expect(domains([], { peakFlopRate: null, peakByteRate: null }).x[0]).toBeGreaterThan(0);
  });
  it("never vanish", () => {
    expect(radius(0, 100)).toBe(3);
    expect(radius(100, 100)).toBe(16);
    expect(radius(5, 0)).toBe(4);
  });
});
