import { expect, it } from "vitest";

import { placeOf } from "./place";

it("reads a file and its line", () => {
  expect(placeOf("/w/models.py:49")).toEqual({ file: "/w/models.py", line: "49" });
  expect(placeOf("/w/models.py:49:7")).toEqual({ file: "/w/models.py", line: "49" });
  expect(placeOf("models.py")).toEqual({ file: "models.py", line: "" });
  expect(placeOf("")).toBeNull();
});
