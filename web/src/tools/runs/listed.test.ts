import { expect, it } from "vitest";

import type { RunInfo } from "../../api/types";
import { fitting, isAskedAtOnce } from "./listed";

const run = (name: string, about: Partial<RunInfo> = {}): RunInfo => ({
  id: name,
  name,
  path: `/logs/${name}`,
  hosts: ["worker-0"],
  size_bytes: 1000,
  modified_ms: 0,
  writing: false,
  dropped: false,
  ...about,
});
const names = (filter: string) =>
  fitting([run("train/a"), run("train/b", { hosts: ["other-7"] }), run("decode/c")], filter).map((one) => one.name);

it("keeps the runs whose name or hosts hold every word, and none with a minus", () => {
  expect(names("")).toEqual(["train/a", "train/b", "decode/c"]);
  expect(names("TRAIN")).toEqual(["train/a", "train/b"]);
  expect(names("train -other")).toEqual(["train/a"]);
  expect(names("other-7")).toEqual(["train/b"]);
  expect(names("nothing")).toEqual([]);
});

it("asks neither what is large nor what is being written", () => {
  expect(isAskedAtOnce(run("a"))).toBe(true);
  expect(isAskedAtOnce(run("a", { size_bytes: 2 ** 30 }))).toBe(false);
  expect(isAskedAtOnce(run("a", { writing: true }))).toBe(false);
});
