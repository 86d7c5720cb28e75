import { describe, expect, it } from "vitest";

import { NARROWEST, centredOn, dragged, holdAt, meanShare, windowOn } from "./strip";

const bounds = { start: 0, end: 1000 };
const view = { start: 200, end: 600 };

describe("the window on the strip", () => {
  it("stands where the view is, and is never too narrow to be seen", () => {
    expect(windowOn(bounds, view, 100)).toEqual({ left: 20, right: 60 });
    const tiny = windowOn(bounds, { start: 0, end: 1 }, 100);
    expect(tiny.left).toBe(0);
    expect(tiny.right).toBe(NARROWEST);
  });
  it("is taken by its edges and its middle", () => {
    expect([15, 21, 40, 59, 65, 5, 90].map((x) => holdAt(bounds, view, 100, x))).toEqual([
      "start",
      "start",
      "window",
      "end",
      "end",
      "nothing",
      "nothing",
    ]);
  });
  it("cannot be taken where it is all of the run", () => {
    expect(holdAt(bounds, bounds, 100, 50)).toBe("nothing");
    expect(holdAt(bounds, bounds, 100, 0)).toBe("nothing");
  });
});

const LONG = { start: 0, end: 1000_000 };
const WIDE = { start: 200_000, end: 600_000 };

describe("a drag on the strip", () => {
  it("moves the window, and stops at the run's ends", () => {
    expect(dragged(LONG, WIDE, "window", 300_000, 400_000)).toEqual({ start: 300_000, end: 700_000 });
    expect(dragged(LONG, WIDE, "window", 300_000, 900_000)).toEqual({ start: 600_000, end: 1000_000 });
  });
  it("moves one edge, also past the other", () => {
    expect(dragged(LONG, WIDE, "start", 200_000, 100_000)).toEqual({ start: 100_000, end: 600_000 });
    expect(dragged(LONG, WIDE, "end", 600_000, 100_000)).toEqual({ start: 100_000, end: 200_000 });
    expect(dragged(LONG, WIDE, "end", 600_000, 300_000)).toEqual({ start: 200_000, end: 300_000 });
  });
  it("draws a new window", () => {
    expect(dragged(LONG, WIDE, "nothing", 900_000, 700_000)).toEqual({ start: 700_000, end: 900_000 });
  });
  it("goes to a time and stays as wide", () => {
    expect(centredOn(LONG, WIDE, 700_000)).toEqual({ start: 500_000, end: 900_000 });
    expect(centredOn(LONG, WIDE, 10_000)).toEqual({ start: 0, end: 400_000 });
  });
});

describe("utilisation of a stretch", () => {
  it("is the mean over its parts, cut ones by their share", () => {
    expect(meanShare([1, 0], bounds, bounds)).toBe(0.5);
    expect(meanShare([1, 0], bounds, { start: 250, end: 1000 })).toBeCloseTo(1 / 3);
  });
  it("is unknown without parts, and outside the run", () => {
    expect(meanShare([], bounds, bounds)).toBeNull();
    expect(meanShare([1], bounds, { start: 2000, end: 3000 })).toBeNull();
  });
});
