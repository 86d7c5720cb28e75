import { describe, expect, it } from "vitest";

import { PROVENANCE, SCOPE } from "../../api/made.testdata";
import type { Column, Table, Value } from "../../api/types";
import { attainable, domains, radius, roofPoints, roofOf, slope } from "./geometry";

const roof = { peakFlopRate: 100e12, peakByteRate: 1e12 };
const column = (id: string): Column => ({ id, label: id, unit: "", kind: "float", doc: "" });

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

it("takes every memory's peak as a ceiling", () => {
  const value = (rate: number | null, unit: string): Value => ({ value: rate, unit, kind: "rate", status: "measured", label: "", doc: "" });
  const roof = roofOf({
    analysis: "roofline",
    version: 1,
    scope: SCOPE,
    provenance: PROVENANCE,
    quality: [],
    values: {
      peak_flop_rate: value(100, "FLOP/s"),
      peak_hbm_rate: value(2, "B/s"),
      peak_vmem_rate: value(20, "B/s"),
      peak_sram_l2_rate: value(40, "B/s"),
      peak_cmem_rate: value(null, "B/s"),
    },
    tables: [],
    trees: [],
    series: [],
    findings: [],
    texts: [],
    passed: null,
    gate: null,
  });
  expect(roof).toEqual({
    peakFlopRate: 100,
    peakByteRate: 2,
    levels: [
      { name: "SRAM L2", rate: 40 },
      { name: "VMEM", rate: 20 },
    ],
  });
  const fit = { x: [0.1, 1000] as const, y: [1, 200] as const };
  expect(slope(20, 100, fit)).toEqual([0.1, 5]);
  expect(slope(20, null, fit)).toEqual([0.1, 10]);
  expect(slope(2000, 100, fit)).toBeNull();
});
