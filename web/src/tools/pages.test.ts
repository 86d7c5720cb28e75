import { expect, it } from "vitest";

import { analysis } from "../api/made.testdata";
import type { Analyses, AnalysisInfo } from "../api/types";
import { pagesFor } from "./pages";

const listed = (analyses: AnalysisInfo[], ledger = false): Analyses => ({
  analyses,
  families: [
    { id: "memory", label: "Memory", about: "What is alive" },
    { id: "audit", label: "Audit", about: "Flags" },
  ],
  groups: ["start", "time", "work", "memory", "programs", "change", "file"],
  ledger,
  capture: false,
  sql: false,
});
const menu = (analyses: AnalysisInfo[], ledger = false) => pagesFor(listed(analyses, ledger));
const ids = (analyses: AnalysisInfo[], ledger = false) => menu(analyses, ledger).map((page) => page.info.id);

it("has what the server has, group by group, and the timeline", () => {
  const all = [analysis("inspect", { group: "file" }), analysis("overview"), analysis("novel", { group: "time" }), analysis("diagnose")];
  expect(ids(all)).toEqual(["overview", "diagnose", "timeline", "novel", "fleet", "inspect", "runs"]);
});

it("shows an analysis that nobody made a page for by its label, with the generic page", () => {
  const pages = menu([analysis("novel", { label: "Novel things" }), analysis("other")]);
  expect(pages[0]?.title).toBe("Novel things");
  expect(pages[0]?.page).toBe(pages[1]?.page);
});

it("puts members under the page of their family, or of the analysis that leads them", () => {
  const pages = menu([
    analysis("compute", { group: "work" }),
    analysis("compute-mfu", { group: "work", family: "compute", label: "MFU" }),
    analysis("memory-peak", { group: "memory", family: "memory", label: "Peak" }),
    analysis("audit-flags", { group: "programs", family: "audit", label: "Flags" }),
  ]);
  expect(pages.map((page) => [page.info.id, page.under])).toEqual([
    ["timeline", undefined],
    ["compute", undefined],
    ["compute-mfu", "compute"],
    ["memory", undefined],
    ["memory-peak", "memory"],
    ["audit-flags", undefined],
    ["fleet", undefined],
    ["runs", undefined],
  ]);
  expect(pages.map((page) => page.title).slice(-4)).toEqual(["Memory: Peak", "Audit: Flags", "Fleet", "Runs"]);
  expect(pages[3]?.info.question).toBe("What is alive");
});

it("has the ledger where the server has one", () => {
  expect(ids([analysis("overview"), analysis("compare", { group: "change" })], true)).toEqual([
    "overview",
    "timeline",
    "compare",
    "fleet",
    "ledger",
    "runs",
  ]);
  expect(ids([analysis("overview")])).not.toContain("ledger");
});

it("has SQL where the server answers it", () => {
  const all = [analysis("overview"), analysis("inspect", { group: "file" })];
  expect(pagesFor({ ...listed(all), sql: true }).map((page) => page.info.id)).toEqual([
    "overview",
    "timeline",
    "fleet",
    "inspect",
    "runs",
    "query",
  ]);
  expect(ids(all)).not.toContain("query");
});
