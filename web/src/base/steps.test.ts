import { expect, it } from "vitest";

import { isSteps, stepsIn, stepsText } from "./steps";

it("reads and writes sets of steps", () => {
  expect(isSteps("2-5, 9")).toBe(true);
  for (const text of ["", "5-2", "many", "1,,2", "-3"]) expect(isSteps(text)).toBe(false);
  expect(stepsIn("2-5,9", [0, 2, 4, 6, 9])).toEqual([2, 4, 9]);
  expect(stepsText([9, 3, 2, 4, 4])).toBe("2-4,9");
  expect(stepsText([])).toBe("");
});
