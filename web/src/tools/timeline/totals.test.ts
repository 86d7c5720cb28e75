import { expect, it } from "vitest";

import type { Totals } from "../../api/timeline";
import { categoryTable, mainTracks, opTable, trackTable } from "./totals";

const totals: Totals = {
  events: 3,
  span_ps: 100,
  union_ps: 60,
  rows: 2,
  by_op: [
    { name: "dot", category: "matmul", module: "m", count: 2, total_ps: 40, self_ps: 30, flops: 5, bytes: null, kind: "op", program: null },
    {
      name: "wait",
      category: null,
      module: null,
      count: 1,
      total_ps: 20,
      self_ps: null,
      flops: null,
      bytes: null,
      kind: "op",
      program: null,
    },
  ],
  by_category: [{ name: "matmul", count: 2, self_ps: 30, flops: null, bytes: null }],
  tracks: [{ id: 7, events: 3, union_ps: 50 }],
};

it("shares the time of ops among ops: a step is a view of the same instant", () => {
  const step = { ...totals.by_op[0], name: "step 1", kind: "steps", category: null, self_ps: 90, total_ps: 90 } as Totals["by_op"][number];
  const both = opTable({ ...totals, by_op: [step, ...totals.by_op] });
  expect(both.rows.map((row) => row[2])).toEqual([null, 1, null]);
});

it("makes tables that keep unknown unknown", () => {
  expect(opTable(totals).rows.map((row) => row.slice(0, 4))).toEqual([
    ["dot", 30, 1, 40],
    ["wait", null, null, 20],
  ]);
  expect(categoryTable(totals).rows).toEqual([["matmul", 30, 1, 2]]);
  const groups = [
    {
      id: "g",
      name: "TPU:0",
      kind: "device",
      host: "h",
      device: null,
      tracks: [{ id: 7, name: "Ops", events: 3, depth: 1, kind: "other", nests: false, counter: false }],
    },
  ];
  expect(trackTable(totals, groups).rows).toEqual([["TPU:0 Ops", 3, 50, 0.5]]);
});

it("takes what devices ran, or everything where there is no device", () => {
  const track = (id: number, kind: "ops" | "thread" | "counters") => ({
    id,
    name: kind,
    events: 1,
    depth: 1,
    kind,
    counter: kind === "counters",
    nests: false,
  });
  const host = { id: "h", name: "h", kind: "host", host: "h", device: null, tracks: [track(1, "thread"), track(2, "counters")] };
  const device = { id: "d", name: "d", kind: "device", host: "h", device: null, tracks: [track(3, "ops"), track(4, "thread")] };
  expect(mainTracks([host, device])).toEqual([3]);
  expect(mainTracks([host])).toEqual([1]);
});
