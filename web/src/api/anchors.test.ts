import { expect, it } from "vitest";

import { column, report, table, value } from "./made.testdata";
import { anchorOf, docsPage, withAnchors } from "./anchors";

it("leads from a value and a column to their rows in the documentation", () => {
  const [time, of] = [value(1), column("self_ps", "duration_ps")];
  const of_memory = report({ analysis: "memory peak", values: { peak_bytes: time }, tables: [table("ops", [of], [])] });
  expect(anchorOf(time)).toBeNull();
  const made = withAnchors(of_memory);
  expect(anchorOf(time)).toBe("/docs/analyses/memory-peak#value-peak_bytes");
  expect(anchorOf(made.tables[0]?.columns[0])).toBe("/docs/analyses/memory-peak#column-ops-self_ps");
  // A page's own arrangement of the rows keeps the columns.
  expect(anchorOf({ ...made.tables[0] }.columns?.[0])).toBe(anchorOf(of));
});

it("knows the pages of what is no analysis", () => {
  expect([docsPage("timeline"), docsPage("comm")]).toEqual(["/docs/timeline", "/docs/analyses/comm"]);
});
