import { expect, it } from "vitest";

import { alignment } from "./align";

const step = (number: number, start: number, kind = "steady") => ({
  number,
  start_ps: start,
  end_ps: start + 10,
  class: kind,
  name: "",
  devices: 1,
});

it("aligns the first steady steps, or those asked for, or the starts", () => {
  const first = [step(0, 0, "warm-up"), step(1, 20), step(2, 40)];
  const second = [step(5, 100, "warm-up"), step(6, 120), step(7, 150)];
  expect(alignment(first, second, "", 0, 0).offset).toBe(100);
  expect(alignment(first, second, "2:7", 0, 0).offset).toBe(110);
  expect(alignment(first, second, "2:99", 0, 0).offset).toBe(80);
  expect(alignment(first, [], "", 5, 30)).toEqual({ first: null, second: null, offset: 25 });
});
