import { describe, expect, it } from "vitest";

import type { TrackGroup } from "../../api/timeline";
import type { Arrangement } from "./layout";
import {
  AS_IT_COMES,
  GROUP_HEIGHT,
  SLICE_HEIGHT,
  FLAT_HEIGHT,
  THIN_HEIGHT,
  TRACK_PAD,
  closedAtFirst,
  depthAt,
  layOut,
  movedAmong,
  ordered,
  rowAt,
  rowsBetween,
  siblingsOf,
  sliceTop,
  trackIds,
} from "./layout";

const groups: TrackGroup[] = [
  {
    id: "d0",
    name: "TPU:0",
    kind: "device",
    host: "h",
    device: null,
    tracks: [
      { id: 1, name: "Steps", events: 3, depth: 1, kind: "steps", nests: false, counter: false },
      { id: 2, name: "XLA Ops", events: 100, depth: 3, kind: "ops", nests: false, counter: false },
    ],
  },
  {
    id: "h",
    name: "host",
    kind: "host",
    host: "h",
    device: null,
    tracks: [{ id: 3, name: "python", events: 5, depth: 0, kind: "other", nests: false, counter: false }],
  },
];
const as = (change: Partial<Arrangement>): Arrangement => ({ ...AS_IT_COMES, ...change });
const open = layOut(groups, AS_IT_COMES);
const keys = (how: Partial<Arrangement>, of = groups) => layOut(of, as(how)).rows.map((row) => row.key);

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
    const deep = { id: 4, name: "deep", events: 9, depth: 20, kind: "other", nests: false, counter: false };
    const heights = ["device", "host"].map(
      (kind) => layOut([{ id: "g", name: "g", kind, host: "h", device: null, tracks: [deep] }], AS_IT_COMES).height,
    );
    expect(heights.map((height) => height - GROUP_HEIGHT - TRACK_PAD)).toEqual([20 * THIN_HEIGHT, 20 * SLICE_HEIGHT]);
  });
  it("leaves out the tracks of a closed group, which its ops sum up", () => {
    expect(trackIds(open)).toEqual([1, 2, 3]);
    const closed = layOut(groups, as({ closed: new Set(["d0"]) }));
    expect(trackIds(closed)).toEqual([3]);
    expect(closed.rows[0]?.kind === "group" && closed.rows[0].summary.map((track) => track.id)).toEqual([2]);
  });
  it("squeezes a closed track to one thin row", () => {
    const row = layOut(groups, as({ closed: new Set(["t2"]) })).rows[2];
    expect(row?.height).toBe(FLAT_HEIGHT + TRACK_PAD);
  });
  it("takes pinned tracks out of their place and keeps them in the order of pinning", () => {
    const layout = layOut(groups, as({ pinned: ["t3", "t2"] }));
    expect(layout.pinned.map((row) => row.key)).toEqual(["t3", "t2"]);
    expect(layout.rows.map((row) => row.key)).toEqual(["d0", "t1", "h"]);
    expect(layout.pinnedHeight).toBe(4 * SLICE_HEIGHT + 2 * TRACK_PAD);
  });
  it("hides by key and by words, and counts what is away", () => {
    expect(keys({ hidden: new Set(["t1"]) })).toEqual(["d0", "t2", "h", "t3"]);
    expect(keys({ filter: "tpu -steps" })).toEqual(["d0", "t2"]);
    expect(layOut(groups, as({ hidden: new Set(["t1", "h"]) })).away).toBe(2);
  });
  it("gives hosts rows of their own where there are several", () => {
    const two = groups.map((group, i) => ({ ...group, host: `vm${i}` }));
    expect(keys({}, two)).toEqual(["h:vm0", "d0", "t1", "t2", "h:vm1", "h", "t3"]);
    expect(keys({ closed: new Set(["h:vm0"]) }, two)).toEqual(["h:vm0", "h:vm1", "h", "t3"]);
    expect(keys({ order: ["h:vm1", "h:vm0"] }, two)[0]).toBe("h:vm1");
  });
});

describe("order", () => {
  it("moves among siblings and nowhere else", () => {
    expect(siblingsOf(groups, "t2")).toEqual(["t1", "t2"]);
    expect(siblingsOf(groups, "d0")).toEqual(["d0", "h"]);
    expect(movedAmong(["a", "b", "c"], [], "c", -1)).toEqual(["a", "c", "b"]);
    expect(movedAmong(["a", "b"], ["x"], "a", -1)).toEqual(["x"]);
    expect(keys({ order: ["t2", "t1"] })).toEqual(["d0", "t2", "t1", "h", "t3"]);
  });
  it("leaves those that it does not name where they stand", () => {
    expect(ordered(["a", "b", "c", "d"], (one) => one, ["d", "b"])).toEqual(["a", "d", "c", "b"]);
  });
});

it("closes hosts with many threads at first, and all but a few of many devices", () => {
  const track = (id: number) => ({ id, name: "t", events: 1, depth: 1, kind: "other", nests: false, counter: false });
  const host: TrackGroup = {
    id: "h9",
    name: "h",
    kind: "host",
    host: "h",
    device: null,
    tracks: Array.from({ length: 30 }, (_, i) => track(i)),
  };
  expect(closedAtFirst([...groups, host])).toEqual(["h", "h9"]);
  expect(closedAtFirst([host])).toEqual([]);
  expect(closedAtFirst(groups)).toEqual([]);
  const many = Array.from({ length: 9 }, (_, i) => ({ id: `d${i}`, name: "d", kind: "device", host: "h", device: null, tracks: [] }));
  expect(closedAtFirst(many).length).toBe(7);
  const async_ = { id: 9, name: "Async XLA Ops", events: 9, depth: 19, kind: "async", nests: false, counter: false };
  const busy = [{ ...groups[0], tracks: [async_, { ...async_, id: 10, depth: 2 }] }] as TrackGroup[];
  expect(closedAtFirst(busy)).toEqual(["t9"]);
});

describe("finding", () => {
  it("the row and the depth under the pointer", () => {
    const row = open.rows[2];
    if (row?.kind !== "track") throw new Error("expected a track");
    const y = sliceTop(row, 2) + 1;
    expect(rowAt(open.rows, y)).toBe(row);
    expect(depthAt(row, y)).toBe(2);
    expect(rowAt(open.rows, open.height + 1)).toBeNull();
  });
  it("only the rows in view", () => {
    expect(rowsBetween(open.rows, 0, GROUP_HEIGHT).length).toBe(1);
    expect(rowsBetween(open.rows, GROUP_HEIGHT, GROUP_HEIGHT + 1).map((row) => row.key)).toEqual(["t1"]);
    expect(rowsBetween(open.rows, 0, 1e9).length).toBe(open.rows.length);
  });
});
