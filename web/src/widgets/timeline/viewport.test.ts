import { describe, expect, it } from "vitest";

import { SHORTEST_PS, panBy, pxToTime, serves, span, timeToPx, toLoad, viewOf, within, zoomAt } from "./viewport";

const bounds = { start: 0, end: 1_000_000 };

describe("moves", () => {
  it("zoom about the anchor", () => {
    const view = zoomAt(bounds, { start: 0, end: 100_000 }, 0.5, 25_000);
    expect(view).toEqual({ start: 12_500, end: 62_500 });
    expect(timeToPx(view, 1000, 25_000)).toBeCloseTo(250);
  });
  it("never leave the run", () => {
    expect(zoomAt(bounds, { start: 0, end: 500_000 }, 10, 100_000)).toEqual(bounds);
    expect(panBy(bounds, { start: 0, end: 100_000 }, -0.5)).toEqual({ start: 0, end: 100_000 });
    expect(panBy(bounds, { start: 800_000, end: 900_000 }, 5)).toEqual({ start: 900_000, end: 1_000_000 });
  });
  it("stop at the shortest span", () => {
    expect(span(zoomAt(bounds, { start: 0, end: 300 }, 0.001, 100))).toBe(SHORTEST_PS);
    expect(within({ start: 0, end: 50 }, { start: 0, end: 10 })).toEqual({ start: 0, end: 50 });
  });
  it("show an event with air around it", () => {
    expect(viewOf(bounds, 100_000, 200_000)).toEqual({ start: 85_000, end: 215_000 });
  });
});

describe("pixels", () => {
  it("are the inverse of time", () => {
    const view = { start: 100, end: 1100 };
    expect(pxToTime(view, 500, timeToPx(view, 500, 640))).toBeCloseTo(640);
  });
});

describe("loading", () => {
  const view = { start: 400_000, end: 500_000 };
  const loaded = toLoad(bounds, view, 1000);
  it("asks for more than the view", () => {
    expect(loaded).toEqual({ start: 350_000, end: 550_000, psPerPx: 100 });
    expect(toLoad(bounds, bounds, 1000)).toEqual({ ...bounds, psPerPx: 1000 });
  });
  it("asks again when the view leaves it or comes closer", () => {
    expect(serves(loaded, { start: 420_000, end: 520_000 }, 1000)).toBe(true);
    expect(serves(loaded, { start: 480_000, end: 580_000 }, 1000)).toBe(false);
    expect(serves(loaded, { start: 440_000, end: 470_000 }, 1000)).toBe(false);
  });
});
