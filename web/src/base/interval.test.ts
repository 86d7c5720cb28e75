import { expect, it } from "vitest";

import { inside, moved, zoomed } from "./interval";

const whole = [0, 1000] as const;

it("zooms about the anchor and stops at both ends", () => {
  expect(zoomed(whole, [0, 400], 0.5, 100, 10)).toEqual([50, 250]);
  expect(zoomed(whole, [0, 400], 100, 100, 10)).toEqual([0, 1000]);
  expect(zoomed(whole, [500, 520], 0.01, 510, 10)).toEqual([505, 515]);
});

it("never leaves the whole", () => {
  expect(moved(whole, [800, 900], 500)).toEqual([900, 1000]);
  expect(moved(whole, [0, 100], -5)).toEqual([0, 100]);
  expect(inside([0, 5], [3, 30])).toEqual([0, 5]);
  expect(zoomed([0, 3], [0, 3], 0.1, 1, 10)).toEqual([0, 3]);
});
