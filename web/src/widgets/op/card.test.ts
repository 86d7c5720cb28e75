import { describe, expect, it } from "vitest";

import type { StepSpan } from "../../api/timeline";
import type { Column, Table } from "../../api/types";
import type { Cell } from "../../base/format";
import { bareModule, factsOf, leadsOf, opOfRow, rowsOfOp, timeOnDevice, usualStep } from "./card";

const column = (id: string): Column => ({ id, label: id, unit: "", kind: "text", doc: "" });
const made = (ids: readonly string[], rows: readonly (readonly Cell[])[], id = "table"): Table => ({
  id,
  title: "",
  columns: ids.map(column),
  rows,
});
const OPS = made(
  ["name", "self_ps", "devices", "module", "program_id", "source"],
  [
    ["dot.1", 40, 4, "jit_step", "77", "a/train.py:12:3"],
    ["dot.1", 90, 2, "jit_eval(5)", "5", "train.py"],
    ["all", 8, 0, null, null, null],
  ],
  "ops",
);

describe("the op that a row names", () => {
  it("is that of its column, with its module where there is one", () => {
    expect(opOfRow(made(["op", "module"], []), ["dot.1", "jit_step"])).toEqual({ name: "dot.1", module: "jit_step" });
    expect(opOfRow(made(["what", "op"], []), ["x", "dot.1"])).toEqual({ name: "dot.1", module: "" });
    expect(opOfRow(OPS, OPS.rows[1])).toEqual({ name: "dot.1", module: "jit_eval(5)" });
  });
  it("is none where there is no such column, nothing in it, or several", () => {
    expect(opOfRow(made(["name"], []), ["dot.1"])).toBeNull();
    expect(opOfRow(made(["op"], []), [null])).toBeNull();
    expect(opOfRow(made(["op"], []), ["dot.1, dot.2"])).toBeNull();
  });
});

describe("its row in the table of ops", () => {
  it("is of its module, with or without the program id", () => {
    expect(rowsOfOp(OPS, { name: "dot.1", module: "jit_step(77)" })).toEqual([0]);
    expect(rowsOfOp(OPS, { name: "dot.1", module: "jit_eval" })).toEqual([1]);
    expect(rowsOfOp(OPS, { name: "dot.1", module: "jit_other" })).toEqual([]);
  });
  it("is each of that name where no module is known, the one with most time first", () => {
    expect(rowsOfOp(OPS, { name: "dot.1", module: "" })).toEqual([1, 0]);
    expect(rowsOfOp(OPS, { name: "dot.10", module: "" })).toEqual([]);
  });
  it("knows a module by its bare name", () => {
    expect(["jit_f(12)", "jit_f", "jit_f@main"].map(bareModule)).toEqual(["jit_f", "jit_f", "jit_f"]);
  });
});

describe("what the card says", () => {
  it("is what the table has, in one order, and unknown where the cell is empty", () => {
    expect(factsOf(OPS, OPS.rows[0]).map((fact) => [fact.label, fact.cell])).toEqual([
      ["Total time", 40],
      ["Source", "a/train.py:12:3"],
      ["Module", "jit_step"],
    ]);
    expect(factsOf(OPS, undefined).every((fact) => fact.cell === null)).toBe(true);
  });
  it("gives the time on one device, unknown where nobody says on how many", () => {
    expect(OPS.rows.map((row) => timeOnDevice(OPS, row))).toEqual([10, 45, null]);
    expect(timeOnDevice(made(["self_ps"], []), [4])).toBeNull();
  });
});

describe("where it leads", () => {
  it("is its program, its memory, its line", () => {
    const leads = leadsOf(OPS, OPS.rows[0], "comm", true);
    expect(leads.map((lead) => lead.label)).toEqual(["Ops", "HLO", "Memory", "Other run", "Source"]);
    expect(leads[1]?.to.view).toEqual({ module: "jit_step(77)", node: "dot.1" });
    expect(leads[3]?.to).toEqual({ page: "compare", view: { q: "dot.1", sel: "dot.1 @ jit_step" } });
    expect(leads[4]?.to.view).toEqual({ at: "a/train.py", line: "12" });
  });
  it("does not lead to where one is, nor to what nobody knows", () => {
    expect(leadsOf(OPS, OPS.rows[2], "ops", false)).toEqual([]);
    expect(leadsOf(OPS, OPS.rows[1], "ops", false).map((lead) => lead.to.view)).toEqual([
      { module: "jit_eval(5)", node: "dot.1" },
      { module: "jit_eval(5)", buffer: "dot.1" },
      { at: "train.py", line: "" },
    ]);
  });
});

describe("the usual step", () => {
  const step = (number: number, length: number, kind: string): StepSpan =>
    ({ number, name: "", start_ps: 0, end_ps: length, class: kind, devices: 1 }) as StepSpan;
  it("is steady and of the middle length", () => {
    const steps = [step(0, 900, "warm-up"), step(1, 12, "steady"), step(2, 10, "steady"), step(3, 11, "steady")];
    expect(usualStep(steps)?.number).toBe(3);
    expect(usualStep(steps.slice(0, 3))?.number).toBe(2);
  });
  it("is none where none is steady", () => {
    expect(usualStep([step(0, 5, "unknown")])).toBeNull();
    expect(usualStep([])).toBeNull();
  });
});
