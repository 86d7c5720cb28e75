import { expect, it } from "vitest";

import { effectTone, statusTone } from "./status";

it("calls only what is wrong in its release wrong", () => {
  expect(["known", "renamed", "retired", "unknown", "not known here"].map(statusTone)).toEqual(["good", "warn", "warn", "bad", "unknown"]);
  expect(["yes", "line 4 sets it again", "unknown"].map(effectTone)).toEqual(["good", "warn", "unknown"]);
});
