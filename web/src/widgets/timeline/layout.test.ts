import { describe, expect, it } from "vitest";

import type { TrackGroup } from "../../api/types";
import {
  closedAtFirst,
  GROUP_HEIGHT,
  SLICE_HEIGHT,
  THIN_HEIGHT,
  TRACK_PAD,
  depthAt,
  layOut,
  rowAt,
  rowsBetween,
  sliceTop,
  trackIds,
} from "./layout";

const groups: TrackGroup[] = [
  {
    id: "d0",
    name: "TPU:0",
    kind: "device",
    tracks: [
      { id: 1, name: "Steps", events: 3, depth: 1 },
      { id: 2, name: "XLA Ops", events: 100, depth: 3 },
    ],
  },
  { id: "h", name: "host", kind: "host", tracks: [{ id: 3, name: "python", events: 5, depth: 0 }] },
];
const open = layOut(groups, new Set());

describe("layOut", () => {
  it("stacks groups and tracks without gaps", () => {
    let y = 0;
    for (const row of open.rows) {
      expect(row.y).toBe(y);
      y += row.height;
    }
    expect(open.height).toBe(y);
    expect(open.height).toBe(2 * GROUP_HEIGHT + 3 * TRACK_PAD + 5 * SLICE_HEIGHT);
  });
  it("draws a device's many levels thin, and a host's stack in full", () => {
    const deep = { id: 4, name: "deep", events: 9, depth: 20 };
    const heights = ["device", "host"].map((kind) => layOut([{ id: "g", name: "g", kind, tracks: [deep] }], new Set()).height);
    expect(heights.map((height) => height - GROUP_HEIGHT - TRACK_PAD)).toEqual([20 * THIN_HEIGHT, 20 * SLICE_HEIGHT]);
  });
  it("leaves out the tracks of a closed group", () => {
    expect(trackIds(open)).toEqual([1, 2, 3]);
    expect(trackIds(layOut(groups, new Set(["d0"])))).toEqual([3]);
  });
});

it("closes hosts with many threads at first, unless there is nothing else", () => {
  const track = (id: number) => ({ id, name: "t", events: 1, depth: 1 });
  const host: TrackGroup = { id: "h9", name: "h", kind: "host", tracks: Array.from({ length: 30 }, (_, i) => track(i)) };
  expect(closedAtFirst([...groups, host])).toEqual(["h", "h9"]);
  expect(closedAtFirst([host])).toEqual([]);
  expect(closedAtFirst(groups)).toEqual([]);
});

describe("finding", () => {
  it("the row and the depth under the pointer", () => {
    const row = open.rows[2];
    if (row?.kind !== "track") throw new Error("expected a track");
    const y = sliceTop(row, 2) + 1;
    expect(rowAt(open, y)).toBe(row);
    expect(depthAt(row, y)).toBe(2);
    expect(rowAt(open, open.height + 1)).toBeNull();
  });
  it("only the rows in view", () => {
    expect(rowsBetween(open, 0, GROUP_HEIGHT).length).toBe(1);
    expect(rowsBetween(open, 0, 1e9).length).toBe(open.rows.length);
  });
});
