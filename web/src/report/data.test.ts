import { expect, test } from "vitest";

import type { Slice } from "./data";
import { MOST_ROWS, drawTrack, readData, sliceAt } from "./data";

const slices: Slice[] = [
  [0, 100, 0, 0, 1, 0],
  [10, 20, 1, 1, 1, 1],
  [90, 1, 1, 1, 7, -1],
  [0, 5, MOST_ROWS, 1, 3, -1],
];

test("slices become boxes of a row, merged ones of their own colour, deeper ones a number", () => {
  const { rows, deeper } = drawTrack(slices, [0, 100], 200, 10, ["outer", "inner"], (name) => name.length);
  expect(rows.length).toBe(2);
  expect(rows[0]?.paths.get(5)).toBe("M0.0 0H200.0V10H0.0Z");
  expect(rows[0]?.labels).toEqual([{ x: 0, width: 200, text: "outer" }]);
  expect(rows[1]?.paths.get(-1)).toBe("M180.0 0H182.0V10H180.0Z");
  expect(deeper).toBe(3);
});

test("the slice under the pointer is that of its row", () => {
  expect(sliceAt(slices, 1, 15)?.[3]).toBe(1);
  expect(sliceAt(slices, 1, 50)).toBeNull();
});

test("other versions and no data are nothing", () => {
  expect(readData("")).toBeNull();
  expect(readData('{"format":2}')).toBeNull();
  expect(readData('{"format":1,"run":"x"}')?.run).toBe("x");
});
