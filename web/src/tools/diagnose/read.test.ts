import { describe, expect, it } from "vitest";

import { PROVENANCE, SCOPE, finding as made } from "../../api/made.testdata";
import type { Column, Finding, Kind, Severity, Report, Table } from "../../api/types";
import { SIGNS, toneOf } from "../../widgets/tone";
import { checksOf, parted, protocolOf, quartersOf, verdictCounts } from "./read";

const column = (id: string, kind: Kind = "text"): Column => ({ id, label: id, unit: "", kind, doc: "" });
const table = (id: string, columns: (string | Column)[], rows: Table["rows"]): Table => ({
  id,
  title: "",
  columns: columns.map((one) => (typeof one === "string" ? column(one) : one)),
  rows,
});
const report = (tables: Table[], findings: Finding[] = []): Report => ({
  analysis: "diagnose",
  version: 1,
  scope: SCOPE,
  provenance: PROVENANCE,
  quality: [],
  values: {},
  tables,
  trees: [],
  series: [],
  findings,
  texts: [],
  passed: null,
  gate: null,
});
const finding = (id: string, claim: string, speedup: number | null, severity: Severity = "info") => made(id, { claim, speedup, severity });

describe("findings", () => {
  const findings = [
    finding("diluted", "idle", null, "warning"),
    finding("slow", "one op", 1.5),
    finding("slow", "another op", 1.1),
    finding("com_piled", "compiled", null),
    finding("prints", "prints", null),
  ];
  it("are caveats, causes and facts by where the causes stand", () => {
    const rows = [
      [1, "slow", "one op", 1 / 3, 1.5],
      [2, "slow", "another op", null, null],
      [3, "com piled", "compiled", null, null],
    ];
    const parts = parted(report([table("causes", ["rank", "id", "claim", "saved_share", "speedup"], rows)], findings));
    expect(parts.caveats.map((one) => one.id)).toEqual(["diluted"]);
    expect(parts.facts.map((one) => one.id)).toEqual(["prints"]);
    expect(parts.causes.map((one) => [one.rank, one.claim, one.speedup, one.finding?.claim])).toEqual([
      ["1", "one op", 1.5, "one op"],
      ["2", "another op", 1.1, "another op"],
      ["3", "compiled", null, "compiled"],
    ]);
    expect(parts.causes[1]?.saved).toBeCloseTo(1 - 1 / 1.1);
    expect(parts.causes[2]?.saved).toBeNull();
  });
  it("are causes by their ceiling where there is no table", () => {
    const parts = parted(report([], findings));
    expect(parts.causes.map((one) => one.claim)).toEqual(["one op", "another op"]);
    expect([parts.caveats.length, parts.facts.length]).toEqual([1, 2]);
  });
  it("without a cause part by their weight", () => {
    const parts = parted(report([table("causes", ["rank", "id"], [])], [findings[0], findings[4]] as Finding[]));
    expect(parts.causes).toEqual([]);
    expect([parts.caveats[0]?.id, parts.facts[0]?.id]).toEqual(["diluted", "prints"]);
  });
});

it("reads steps, and does without columns that are not there", () => {
  expect(protocolOf(report([table("protocol", ["step", "question", "verdict"], [[4, "Steady?", null]])]))).toEqual([
    { number: "4", question: "Steady?", verdict: null, said: "", see: "" },
  ]);
  expect(protocolOf(report([]))).toEqual([]);
});

it("puts what was found first, then what nobody can tell", () => {
  const rows = ["clear", "does not apply", "unknown", "found", "clear"].map((verdict, i) => [`rule ${i}`, verdict]);
  const checks = checksOf(report([table("checks", ["rule", "verdict"], rows)]));
  expect(checks.map((one) => one.rule)).toEqual(["rule 3", "rule 2", "rule 0", "rule 4", "rule 1"]);
  expect(verdictCounts(checks)).toEqual([
    { verdict: "found", count: 1 },
    { verdict: "unknown", count: 1 },
    { verdict: "clear", count: 2 },
    { verdict: "does not apply", count: 1 },
  ]);
});

it("places the four pairs, and nothing of another shape", () => {
  const columns = ["compute", "memory", column("holds", "flag"), "means", "next"];
  const rows: Table["rows"] = [
    ["high", "low", false, "compute-bound", ""],
    ["low", "high", true, "memory-bound", ""],
    ["high", "high", null, "both", ""],
    ["low", "low", false, "neither", ""],
  ];
  expect(quartersOf(table("utilisation", columns, rows))?.map((one) => [one.means, one.holds])).toEqual([
    ["compute-bound", false],
    ["both", null],
    ["neither", false],
    ["memory-bound", true],
  ]);
  expect(quartersOf(table("utilisation", columns, rows.slice(1)))).toBeNull();
  expect(quartersOf(null)).toBeNull();
});

it("gives each verdict a sign of its own", () => {
  const words = ["clear", "worth a look", "found", "unknown", "does not apply", "compute-bound", "not input-bound", "input-bound"];
  expect(words.map(toneOf)).toEqual(["good", "warn", "bad", "unknown", "none", "plain", "good", "bad"]);
  expect(toneOf(null)).toBe("unknown");
  expect(new Set(Object.values(SIGNS)).size).toBe(Object.keys(SIGNS).length);
});
