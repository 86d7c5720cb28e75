/** The report of `diagnose` as its page reads it. Pure. */

import { columnIndex, numberAt, tableOf, textAt } from "../../api/read";
import type { Finding, Report, Table } from "../../api/types";
import { savedShare } from "../../widgets/links";

export interface ProtocolStep {
  readonly number: string;
  readonly question: string;
  readonly verdict: string | null;
  readonly said: string;
  readonly see: string;
}

export function protocolOf(report: Report): ProtocolStep[] {
  const table = tableOf(report, "protocol");
  if (table === null) return [];
  const at = (...ids: string[]) => columnIndex(table, ...ids);
  const [number, question, verdict, said, see] = [at("step", "number"), at("question"), at("verdict"), at("said"), at("see")];
  return table.rows.map((row, i) => ({
    number: textAt(row, number) ?? String(i + 1),
    question: textAt(row, question) ?? "",
    verdict: textAt(row, verdict),
    said: textAt(row, said) ?? "",
    see: textAt(row, see) ?? "",
  }));
}

export interface Cause {
  readonly rank: string;
  readonly claim: string;
  /** Share of the time that would go at most; null where nobody can tell. */
  readonly saved: number | null;
  readonly speedup: number | null;
  /** Its evidence, lever and links; null where the report has the row alone. */
  readonly finding: Finding | null;
}

export interface Parted {
  /** Without these the numbers are misread. */
  readonly caveats: readonly Finding[];
  readonly causes: readonly Cause[];
  /** Worth knowing; nothing would be faster at once. */
  readonly facts: readonly Finding[];
}

/** Findings stand in the report's order: caveats, causes, facts. Without a table of causes they are those with a ceiling. */
export function parted(report: Report): Parted {
  const table = tableOf(report, "causes");
  const { findings } = report;
  if (table === null) {
    const is = (one: Finding): boolean => savedShare(one.speedup) !== null;
    const causes = findings.filter(is).map((finding, i) => ({
      rank: String(i + 1),
      claim: finding.claim,
      saved: savedShare(finding.speedup),
      speedup: finding.speedup ?? null,
      finding,
    }));
    return { causes, ...around(findings, is) };
  }
  const at = (...ids: string[]) => columnIndex(table, ...ids);
  const [rank, id, claim, saved, speedup] = [at("rank"), at("id"), at("claim"), at("saved_share"), at("speedup")];
  const causes = table.rows.map((row, i): Cause => {
    const said = textAt(row, claim) ?? "";
    // Tables write ids as words.
    const rule = (textAt(row, id) ?? "").replaceAll(" ", "_");
    const own = findings.filter((one) => one.id === rule);
    const finding = own.find((one) => one.claim === said) ?? (own.length === 1 ? (own[0] ?? null) : null);
    const factor = numberAt(row, speedup) ?? finding?.speedup ?? null;
    return {
      rank: textAt(row, rank) ?? String(i + 1),
      claim: said === "" ? (finding?.claim ?? "") : said,
      saved: numberAt(row, saved) ?? savedShare(factor),
      speedup: factor,
      finding,
    };
  });
  const used = new Set(causes.map((cause) => cause.finding));
  return { causes, ...around(findings, (one) => used.has(one)) };
}

/** What stands before the first cause, and after it; where there is no cause, what matters and what does not. */
function around(findings: readonly Finding[], isCause: (one: Finding) => boolean): { caveats: Finding[]; facts: Finding[] } {
  const first = findings.findIndex(isCause);
  const others = findings
    .map((one, i) => ({ one, before: first < 0 ? one.severity !== "info" : i < first }))
    .filter(({ one }) => !isCause(one));
  return { caveats: others.filter((o) => o.before).map((o) => o.one), facts: others.filter((o) => !o.before).map((o) => o.one) };
}

/** In the order that a reader asks for them. */
const VERDICTS = ["found", "unknown", "clear", "does not apply"];

export interface Check {
  readonly rule: string;
  readonly verdict: string;
  readonly saved: number | null;
  readonly threshold: string;
  readonly said: string;
  readonly needs: string;
}

export function checksOf(report: Report): Check[] {
  const table = tableOf(report, "checks");
  if (table === null) return [];
  const at = (id: string) => columnIndex(table, id);
  const [rule, verdict, saved, threshold, said, needs] = [
    at("rule"),
    at("verdict"),
    at("saved_share"),
    at("threshold"),
    at("said"),
    at("needs"),
  ];
  const place = (check: Check): number => {
    const index = VERDICTS.indexOf(check.verdict);
    return index < 0 ? VERDICTS.length : index;
  };
  return table.rows
    .map((row) => ({
      rule: textAt(row, rule) ?? "",
      verdict: textAt(row, verdict) ?? "unknown",
      saved: numberAt(row, saved),
      threshold: textAt(row, threshold) ?? "",
      said: textAt(row, said) ?? "",
      needs: textAt(row, needs) ?? "",
    }))
    .sort((a, b) => place(a) - place(b) || (b.saved ?? 0) - (a.saved ?? 0));
}

/** How many checks there are of each verdict, in the same order. */
export function verdictCounts(checks: readonly Check[]): { readonly verdict: string; readonly count: number }[] {
  const counts = new Map<string, number>();
  for (const { verdict } of checks) counts.set(verdict, (counts.get(verdict) ?? 0) + 1);
  return [...counts].map(([verdict, count]) => ({ verdict, count }));
}

export interface Quarter {
  readonly compute: string;
  readonly memory: string;
  /** Whether this run is here; null where nobody can tell. */
  readonly holds: boolean | null;
  readonly means: string;
  readonly next: string;
}

/** The four pairs of high and low, compute from the top and memory from the left; null where the table is of another shape. */
export function quartersOf(table: Table | null): Quarter[] | null {
  if (table === null) return null;
  const at = (id: string) => columnIndex(table, id);
  const [compute, memory, holds, means, next] = [at("compute"), at("memory"), at("holds"), at("means"), at("next")];
  const quarters = table.rows.map((row): Quarter => {
    const here = holds < 0 ? null : row[holds];
    return {
      compute: textAt(row, compute) ?? "",
      memory: textAt(row, memory) ?? "",
      holds: typeof here === "boolean" ? here : null,
      means: textAt(row, means) ?? "",
      next: textAt(row, next) ?? "",
    };
  });
  const order = ["high low", "high high", "low low", "low high"];
  const placed = order.flatMap((pair) => quarters.filter((one) => `${one.compute} ${one.memory}` === pair));
  return placed.length === order.length && quarters.length === order.length ? placed : null;
}
