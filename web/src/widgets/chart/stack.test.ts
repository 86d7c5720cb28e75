import { expect, it } from "vitest";

import { labelled, layers, stackAt, total } from "./stack";

const part = (name: string, value: number) => ({ name, value, colour: `var(--${name})` });
const stacks = [
  { label: "0", parts: [part("compute", 6), part("wait", 2)] },
  { label: "1", parts: [part("compute", 4)] },
];
const plot = { left: 0, right: 8, y: (value: number) => 100 - value };

it("puts parts on top of one another", () => {
  expect(layers(stacks, plot)).toEqual([
    { name: "compute", colour: "var(--compute)", path: "M0.0 100.0h4.00V94.0h-4.00zM4.0 100.0h4.00V96.0h-4.00z", sum: 10 },
    { name: "wait", colour: "var(--wait)", path: "M0.0 94.0h4.00V92.0h-4.00z", sum: 2 },
  ]);
  expect(stacks.map(total)).toEqual([8, 4]);
  expect(layers([], plot)).toEqual([]);
});

it("finds the stack under the pointer", () => {
  expect([-1, 0, 3.9, 4, 7.9, 8].map((x) => stackAt(x, 2, plot))).toEqual([null, 0, 0, 1, 1, null]);
  expect(stackAt(3, 0, plot)).toBeNull();
});

it("leaves out labels that have no room", () => {
  expect(labelled(4, 400, 40)).toEqual([0, 1, 2, 3]);
  expect(labelled(100, 400, 40)).toEqual([0, 10, 20, 30, 40, 50, 60, 70, 80, 90]);
  expect(labelled(0, 400, 40)).toEqual([]);
});
