import { expect, it } from "vitest";

import { durationChange, shareChange } from "./quantity";

it("puts a sign before a change, and none before no change", () => {
  expect(durationChange(2.6e9)).toBe("+2.600 ms");
  expect(durationChange(-2.6e9)).toBe("−2.600 ms");
  expect(durationChange(0)).toBe("0 s");
  expect([0.082, -0.024, 0.0002, 0].map(shareChange)).toEqual(["+8.2%", "−2.4%", "<0.1%", "0.0%"]);
});
