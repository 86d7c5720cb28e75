import { describe, expect, it } from "vitest";

import { PROVENANCE, SCOPE, analysis, finding as made } from "../api/made.testdata";
import type { AnalysisInfo, Column, Report, Severity, Table } from "../api/types";
import { covers } from "./covers";
import { bySeverity, pieces, targetsOf } from "./evidence";

const table = (id: string, columns: string[], rows: Table["rows"]): Table => ({
  id,
  title: "",
  columns: columns.map((one): Column => ({ id: one, label: one, unit: "", kind: "text", doc: "" })),
  rows,
});
const report = (analysis: string, tables: Table[]): Report => ({
  analysis,
  version: 1,
  scope: { ...SCOPE, hosts: ["w-0"], devices: ["w-0/TPU:0"] },
  provenance: { ...PROVENANCE, hosts: ["w-0", "w-1"], coverage: { devices: 1, devices_in_profile: 4 } },
  quality: [],
  values: { program: { value: "jit_f(7)", unit: "", kind: "text", status: "measured", label: "", doc: "" } },
  tables,
  trees: [],
  series: [],
  findings: [],
  texts: [],
  passed: null,
  gate: null,
});
const analyses: AnalysisInfo[] = [analysis("ops"), analysis("memory-peak", { name: "memory peak" })];
const links = (text: string, about: Report) => pieces(text, about, targetsOf(about), analyses).filter((one) => one.to !== undefined);

describe("words that lead on", () => {
  const about = report("overview", [table("top_ops", ["name"], [["fusion.12"]]), table("time", ["class"], [["compute-bound ops"]])]);
  it("are ops, devices, steps and rows", () => {
    const text = "fusion.12 on w-0/TPU:0 in step 3, and compute-bound ops 39.8%.";
    const found = pieces(text, about, targetsOf(about), analyses);
    expect(found.map((one) => one.text).join("")).toBe(text);
    expect(links(text, about).map((one) => [one.text, one.to])).toEqual([
      ["fusion.12", { page: "ops", view: { by: "", q: "", sel: "fusion.12" } }],
      ["w-0/TPU:0", { scope: { devices: "w-0/TPU:0" } }],
      ["compute-bound ops", { view: { mark: "time:compute-bound ops" } }],
    ]);
  });
  it("stay among the ops of both runs where two are compared", () => {
    expect(links("fusion.12 is new", report("compare", [table("ops", ["op"], [["fusion.12"]])])).map((one) => one.to)).toEqual([
      { view: { mark: "ops:fusion.12" } },
    ]);
  });
  it("are commands, as pages", () => {
    expect(links("see `ops --by category` or `haloscope memory peak`, not `rm -rf`", about).map((one) => one.to)).toEqual([
      { page: "ops", view: { by: "category" } },
      { page: "memory-peak", view: {} },
    ]);
    expect(links("`ops --devices w-1/TPU:0 --by category`", about)[0]?.to).toEqual({
      page: "ops",
      view: { by: "category" },
      scope: { devices: "w-1/TPU:0" },
    });
    expect(links("an odd ` is no code: ops", about)).toEqual([]);
  });
  it("are instructions in findings on memory", () => {
    const memory = report("memory diagnose", []);
    expect(links("4.500 MiB for ynn_fusion.6 at 18.4%; copy_x f32[96]{0} (1 KiB)", memory).map((one) => one.text)).toEqual([
      "ynn_fusion.6",
      "copy_x",
    ]);
    expect(links("ynn_fusion.6 took 18.4%", about)).toEqual([]);
  });
});

it("puts the worst first and keeps the order of equals", () => {
  const finding = (id: string, severity: Severity) => made(id, { severity });
  const sorted = bySeverity([finding("a", "info"), finding("b", "warning"), finding("c", "info"), finding("d", "error")]);
  expect(sorted.map((one) => one.id)).toEqual(["d", "b", "a", "c"]);
});

it("says what a report covers", () => {
  expect(covers(report("ops", []))).toEqual(["1 of 2 hosts: w-0", "1 of 4 devices: w-0/TPU:0", "all steps and the time between them"]);
  const about = report("ops", []);
  expect(covers({ ...about, scope: { ...SCOPE, modules: ["jit"], steps: "2-5", steady: true, window_ps: [0, 5e9] } })).toEqual([
    "programs named jit",
    "steps 2-5",
    "the steady state",
    "from 0 s to 5.00000 ms",
  ]);
});
