import { expect, it } from "vitest";

import { toJson } from "./json";

it("gives each row by column ids, unrounded, unknown as null", () => {
  expect(
    JSON.parse(
      toJson(
        ["op", "self_ps", "share"],
        [
          ["a", 63472903750, null],
          ["b", 1],
        ],
      ),
    ),
  ).toEqual([
    { op: "a", self_ps: 63472903750, share: null },
    { op: "b", self_ps: 1, share: null },
  ]);
  expect(toJson(["op"], [])).toBe("[]\n");
});
