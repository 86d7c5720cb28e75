import { describe, expect, it } from "vitest";

import type { Column, Kind } from "../../api/types";
import { barFull, columnWidth, isFacts, knownColumns, scrollToRow, visibleRows, withSecond } from "./layout";

describe("visibleRows", () => {
  it("draws only what is near", () => {
    expect(visibleRows(0, 260, 26, 10_000, 5)).toEqual({ first: 0, end: 15 });
    expect(visibleRows(26_000, 260, 26, 10_000, 5)).toEqual({ first: 995, end: 1015 });
  });
  it("stays inside after the rows became fewer", () => {
    expect(visibleRows(26_000, 260, 26, 3, 5)).toEqual({ first: 2, end: 3 });
    expect(visibleRows(0, 260, 26, 0, 5)).toEqual({ first: 0, end: 0 });
  });
});

it("fills bars by the whole, or by the largest part of one whole", () => {
  const share = (id: string): Column => ({ id, label: id, unit: "1", kind: "share" as const, doc: "" });
  expect(barFull(share("self_share"), 0, [[0.2], [0.1], [null]])).toBe(0.2);
  expect(barFull(share("self_share"), 0, [[0]])).toBe(1);
  expect(barFull(share("flop_share_of_peak"), 0, [[0.3], [0.2]])).toBe(1);
});

it("drops columns that say nothing in any row", () => {
  const columns = ["a", "b", "c"].map((id): Column => ({ id, label: id, unit: "", kind: "int" as const, doc: "" }));
  expect(
    knownColumns(columns, [
      [null, null, 0],
      [null, null, null],
    ]),
  ).toEqual([0, 2]);
  expect(knownColumns(columns, [])).toEqual([0, 1, 2]);
});

it("leaves out the units that quantities carry", () => {
  const columns = [
    { id: "metric", label: "Metric", unit: "", kind: "text" as const, doc: "" },
    { id: "unit", label: "Unit", unit: "", kind: "text" as const, doc: "" },
    { id: "delta", label: "Delta", unit: "", kind: "change" as const, doc: "" },
  ];
  const rows = [["step time", "ps", 5.03e9]];
  expect(knownColumns(columns, rows)).toEqual([0, 2]);
  expect(columnWidth(columns, 2, rows)).toBe("+5.030 ms".length + 2);
});

it("moves a column beside the first, where it is shown", () => {
  expect(withSecond([0, 1, 2, 5], 5)).toEqual([0, 5, 1, 2]);
  expect(withSecond([0, 1, 2], 5)).toEqual([0, 1, 2]);
  expect(withSecond([0, 1], -1)).toEqual([0, 1]);
});

it("tells facts from tables to sort", () => {
  const column = (kind: Kind): Column => ({ id: kind, label: kind, unit: "", kind, doc: "" });
  const facts = { id: "t", title: "", columns: [column("text"), column("text")], rows: [["a", "b"]] };
  expect(isFacts(facts)).toBe(true);
  expect(isFacts({ ...facts, columns: [column("text"), column("int")] })).toBe(false);
});

it("scrolls as little as possible", () => {
  expect(scrollToRow(100, 260, 26, 5)).toBe(100);
  expect(scrollToRow(100, 260, 26, 2)).toBe(52);
  expect(scrollToRow(0, 260, 26, 20)).toBe(286);
});

it("makes columns as wide as their longest cell, within reason", () => {
  const text = { id: "op", label: "Op", unit: "", kind: "text" as const, doc: "" };
  expect(columnWidth([text], 0, [["abcdefghij"]])).toBe(12);
  expect(columnWidth([text], 0, [["x".repeat(500)]])).toBe(46);
});
