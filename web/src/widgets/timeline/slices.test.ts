import { describe, expect, it } from "vitest";

import type { Slice } from "../../api/types";
import { fitText, keepEnds, neighbour, sliceAt } from "./slices";

const slices: Slice[] = [
  [0, 100, 0, 0, 1, 0],
  [10, 20, 1, 1, 1, 1],
  [40, 5, 1, 2, 1, 2],
  [200, 10, 0, 0, 1, 3],
];

describe("sliceAt", () => {
  it("looks at one depth only", () => {
    expect(sliceAt(slices, 15, 0, 0)?.[5]).toBe(0);
    expect(sliceAt(slices, 15, 1, 0)?.[5]).toBe(1);
    expect(sliceAt(slices, 60, 1, 0)).toBeNull();
  });
  it("forgives a near miss, nearest first", () => {
    expect(sliceAt(slices, 38, 1, 5)?.[5]).toBe(2);
    expect(sliceAt(slices, 33, 1, 5)?.[5]).toBe(1);
  });
});

describe("neighbour", () => {
  it("walks along a depth and ends", () => {
    expect(neighbour(slices, 0, 0, 1)?.[5]).toBe(3);
    expect(neighbour(slices, 40, 1, -1)?.[5]).toBe(1);
    expect(neighbour(slices, 200, 0, 1)).toBeNull();
  });
});

it("keeps both ends of a long name", () => {
  expect(keepEnds("gke-v6e-32-worker-0/TPU:0", 16)).toBe("gke-v…er-0/TPU:0");
  expect(keepEnds("TPU:0", 16)).toBe("TPU:0");
});

it("cuts text to its room", () => {
  expect(fitText("fusion.1", 100, 6)).toBe("fusion.1");
  expect(fitText("fusion.123", 42, 6)).toBe("fusion…");
  expect(fitText("fusion.1", 12, 6)).toBe("");
});
