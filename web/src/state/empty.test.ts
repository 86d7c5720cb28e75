import { expect, it } from "vitest";

import { finding, report, table, value } from "../api/made.testdata";
import { saysNothing } from "./empty";

it("a report without a number or a row says nothing, whatever words it has", () => {
  const words = { verdict: value(null), message: value("no request was recorded"), count: value(0) };
  expect(saysNothing(report({ values: words, tables: [table("requests", ["name"], [])] }))).toBe(true);
  expect(saysNothing(report({ values: { share: value(0.2) } }))).toBe(false);
  expect(saysNothing(report({ tables: [table("requests", ["name"], [["one"]])] }))).toBe(false);
  expect(saysNothing(report({ findings: [finding("idle")] }))).toBe(false);
});
