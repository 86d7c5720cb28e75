import { describe, expect, it } from "vitest";

import {
  readArea,
  readArrangement,
  readColouring,
  readEvent,
  readEvents,
  readMarks,
  readView,
  writeArea,
  writeArrangement,
  writeEvents,
  writeMarks,
  writeView,
} from "./address";

describe("the arrangement", () => {
  const how = {
    closed: new Set(["p1", "h:vm,0"]),
    hidden: new Set(["t3"]),
    pinned: ["t9", "t2"],
    order: ["p2", "p1"],
    filter: "tpu -async",
  };
  it("round-trips, also with a comma in a host's name", () => {
    expect(readArrangement(writeArrangement(how, []), [])).toEqual(how);
  });
  it("is silent when nothing was arranged", () => {
    const first = ["p1"];
    const asItComes = readArrangement({}, first);
    expect(Object.values(writeArrangement(asItComes, first)).join("")).toBe("");
    expect(writeArrangement({ ...asItComes, closed: new Set() }, first)["closed"]).toBe("none");
    expect(readArrangement({ closed: "none" }, first).closed.size).toBe(0);
  });
});

it("keeps areas, marks, colours and the event", () => {
  expect(readArea(writeArea({ start: 5, end: 9, tracks: [1, 2] }))).toEqual({ start: 5, end: 9, tracks: [1, 2] });
  expect(readArea(writeArea({ start: 5, end: 9, tracks: null }))).toEqual({ start: 5, end: 9, tracks: null });
  expect(readArea("9..5")).toBeNull();
  expect(readMarks(writeMarks([3, 1]))).toEqual([3, 1]);
  expect(readMarks("x,4")).toEqual([4]);
  expect(readColouring("module")).toBe("module");
  expect(readColouring("rainbow")).toBe("category");
  expect(readEvent("12,7")).toEqual({ track: 12, event: 7 });
  expect(readEvent("12")).toBeNull();
});

describe("where the timeline is", () => {
  const bounds = { start: 0, end: 1000 };
  const active = { start: 900, end: 950 };
  it("is silent where it opens, and says so where it shows all instead", () => {
    expect(writeView(bounds, bounds, bounds)).toBe("");
    expect(writeView(active, bounds, active)).toBe("");
    expect(writeView(bounds, bounds, active)).toBe("all");
    expect(readView("all", bounds)).toEqual(bounds);
    expect(readView("", bounds)).toBeNull();
    expect(readView("soon", bounds)).toBeNull();
  });
  it("round-trips elsewhere", () => {
    const part = { start: 10, end: 20 };
    expect(readView(writeView(part, bounds, bounds), bounds)).toEqual(part);
  });
  it("knows all of two linked runs", () => {
    expect(writeView({ start: -50, end: 1000 }, { start: -50, end: 1000 }, bounds)).toBe("all");
  });
});

it("names events that were picked together, but none of a slice that several share", () => {
  const events = [
    { track: 12, event: 345 },
    { track: 3, event: 0 },
  ];
  expect(writeEvents(events)).toBe("12,345;3,0");
  expect(readEvents("12,345;3,0")).toEqual(events);
  expect(writeEvents([{ track: 1, event: -1 }])).toBe("");
  expect([readEvents(undefined), readEvents(""), readEvents("1;2,x")]).toEqual([[], [], []]);
  expect(readEvents(Array(100).fill("1,2").join(";")).length).toBe(64);
});
