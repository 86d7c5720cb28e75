import { expect, it } from "vitest";

import type { Table } from "../../api/types";
import { binsFor, histogram, latencies, phaseColour, requestBars } from "./latency";

it("counts every value once", () => {
  const bins = histogram([1, 2, 2, 3, 9], 4);
  expect(bins.map((bin) => bin.count)).toEqual([3, 1, 0, 1]);
  expect(bins[0]?.from).toBe(1);
  expect(bins.at(-1)?.to).toBe(9);
  expect(histogram([5, 5], 10)).toEqual([{ from: 5, to: 5, count: 2 }]);
  expect(histogram([], 10)).toEqual([]);
  expect([binsFor(1), binsFor(100), binsFor(1e6)]).toEqual([2, 20, 60]);
});

it("breaks requests into phases", () => {
  const requests: Table = {
    id: "requests",
    title: "",
    columns: ["request", "latency_ps", "device_ps", "idle_ps", "batch_formation_ps"].map((id) => ({
      id,
      label: id,
      unit: "",
      kind: "int",
      doc: "",
    })),
    rows: [
      [7, 100, 60, 0, 40],
      [3, 80, 80, 0, null],
    ],
  };
  expect(requestBars(requests, 1).map((bar) => [bar.name, bar.latency, bar.parts.map((part) => [part.phase.id, part.ps])])).toEqual([
    [
      "request 7",
      100,
      [
        ["batch_formation_ps", 40],
        ["device_ps", 60],
      ],
    ],
  ]);
  expect(latencies(requests)).toEqual([100, 80]);
  expect(requestBars(null, 5)).toEqual([]);
  expect(phaseColour("device")).not.toBe(phaseColour("no such phase"));
});
