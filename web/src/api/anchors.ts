/** Where the documentation, which the server has at `/docs`, says what a number is. Pure but for what it remembers of reports.
 *
 * A value's anchor is `value-ID`, a column's `column-TABLE-ID`, on the page of the analysis. Both are set where `crates/serve/src/docs`
 * makes the pages; a test there holds every value and column of the fixtures against them. */

import { placed } from "./place";
import type { Column, Report, Value } from "./types";

/** What the server has beside its analyses. Their pages have no reference by number. */
const BESIDE: readonly string[] = ["timeline", "ledger", "query"];

/** By the very objects of a report: pages pass them on, whatever they make of its rows. */
const ANCHORS = new WeakMap<Column | Value, string>();

/** The page of an analysis, or of what stands beside the analyses, by its id in addresses. */
export function docsPage(id: string): string {
  if (id === "glossary") return placed("/docs/concepts#glossary");
  return placed(BESIDE.includes(id) ? `/docs/${id}` : `/docs/analyses/${id}`);
}

/** Whether there is a server with its documentation: a file that stands alone has none. */
let served = false;

/** Where the glossary says what a word means; null without a server. */
export function glossary(word: string): string | null {
  return served ? placed(`/docs/concepts#term-${word.replaceAll(" ", "-")}`) : null;
}

/** Remembers where the numbers of a report are explained. */
export function withAnchors(report: Report): Report {
  served = true;
  const id = report.analysis.replaceAll(" ", "-");
  const page = docsPage(id);
  const at = (anchor: string): string => (BESIDE.includes(id) ? page : `${page}#${anchor}`);
  for (const [name, value] of Object.entries(report.values)) ANCHORS.set(value, at(`value-${name}`));
  for (const table of [...report.tables, ...report.trees])
    for (const column of table.columns) ANCHORS.set(column, at(`column-${table.id}-${column.id}`));
  return report;
}

/** Where a number is explained; null for one of no report of this server, as in a file that stands alone. */
export function anchorOf(number: Column | Value | undefined): string | null {
  return number === undefined ? null : (ANCHORS.get(number) ?? null);
}
