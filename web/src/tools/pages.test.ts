import { expect, it } from "vitest";

import type { AnalysisInfo } from "../api/types";
import { pagesFor } from "./pages";

const info = (id: string, name = id): AnalysisInfo => ({ id, name, question: "", params: [] });
const ids = (analyses: AnalysisInfo[]): string[] => pagesFor(analyses).map((page) => page.info.id);

it("has no page for what the server does not answer", () => {
  const old = ids([info("overview"), info("ops")]);
  for (const id of ["diagnose", "comm", "critical-path", "input", "compute", "compute-mfu", "audit-flags", "compare", "check"])
    expect(old).not.toContain(id);
  expect(old).toContain("timeline");
});

it("begins with what happened and why it is slow", () => {
  const pages = pagesFor([info("overview"), info("diagnose"), info("novel")]);
  expect(pages.slice(0, 3).map((page) => page.info.id)).toEqual(["overview", "diagnose", "timeline"]);
  expect(pages.find((page) => page.info.id === "novel")?.label).toBe("Novel");
});

it("groups the analyses of a family", () => {
  expect(pagesFor([info("memory-peak")]).find((page) => page.info.id === "memory-peak")?.under).toBe("memory");
});

it("the ledger is in the menu where the server has one", () => {
  const menu = (beside: string[]) => pagesFor([info("overview")], beside).map((page) => page.info.id);
  expect(menu([])).not.toContain("ledger");
  expect(menu(["ledger"])).toContain("ledger");
});
