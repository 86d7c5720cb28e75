import { describe, expect, it } from "vitest";

import { linearScale } from "../../base/scale";
import { isUsual, marks, nearest } from "./steps";

describe("geometry", () => {
  const x = linearScale([0, 10], [0, 100]);
  const y = linearScale([0, 10], [100, 0]);
  const at = (step: number, durationPs: number) => ({ step, device: "", durationPs, kind: "", row: 0 });
  it("draws bars from the baseline and dots in place", () => {
    expect(marks([at(1, 5)], (p) => x(p.step), y, 100)).toBe("M10.0 100.0V50.0");
    expect(marks([at(1, 5)], (p) => x(p.step), y, null)).toBe("M10.0 50.0V50.0");
  });
  it("finds the nearest column", () => {
    expect(nearest([at(1, 5), at(2, 5)], x, y, 18, 90)?.step).toBe(2);
    expect(nearest([], x, y, 0, 0)).toBeNull();
  });
  it("tells the usual step from the odd one", () => {
    expect(isUsual("steady")).toBe(true);
    expect(isUsual("warm-up")).toBe(false);
  });
});
