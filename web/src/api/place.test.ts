import { expect, it } from "vitest";

import { folderOf, placed } from "./place";

it("knows the folder that a server has the page in", () => {
  expect(folderOf("http:", "/")).toBe("/");
  expect(folderOf("https:", "/index.html")).toBe("/");
  expect(folderOf("http:", "/data/plugin/haloscope/page/")).toBe("/data/plugin/haloscope/page/");
  expect(folderOf("file:", "/tmp/report.html")).toBe("/");
  expect(folderOf("about:", "srcdoc")).toBe("/");
  expect(placed("/api/runs")).toBe("/api/runs");
});
