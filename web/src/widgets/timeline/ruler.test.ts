import { expect, it } from "vitest";

import { rulerTicks } from "./ruler";

it("labels in one unit, told apart", () => {
  const texts = rulerTicks({ start: 0, end: 10e9 }, 600).map((tick) => tick.text);
  expect(texts).toEqual(["0 ms", "2 ms", "4 ms", "6 ms", "8 ms", "10 ms"]);
});

it("adds decimals deep inside a run", () => {
  const texts = rulerTicks({ start: 1.5e12, end: 1.5e12 + 3e6 }, 400).map((tick) => tick.text);
  expect(new Set(texts).size).toBe(texts.length);
  expect(texts[0]).toBe("1500.000 ms");
});

it("places ticks by the view", () => {
  const ticks = rulerTicks({ start: 0, end: 1000 }, 1000);
  expect(ticks[1]?.px).toBeCloseTo(200);
});
