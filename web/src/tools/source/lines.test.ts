import { describe, expect, it } from "vitest";

import type { Column, Table } from "../../api/types";
import { hottest, linesOf, looksChanged, shortPath, without } from "./lines";

const column = (id: string): Column => ({ id, label: id, unit: "", kind: "int", doc: "" });
const table: Table = {
  id: "lines",
  title: "",
  columns: ["file", "line", "self_ps", "total_ps"].map(column),
  rows: [
    ["/a/m.py", 3, 70, 70],
    ["/a/n.py", 1, 20, 20],
    ["/a/m.py", 1, 0, 70],
  ],
};

describe("linesOf", () => {
  it("gives the lines that ops name where there is no text", () => {
    expect(linesOf(table, "/a/m.py", null).map((line) => [line.number, line.row, line.own, line.total])).toEqual([
      [1, 2, 0, 70],
      [3, 0, 70, 70],
    ]);
    expect(linesOf(table, "/b.py", null)).toEqual([]);
  });
  it("puts time beside every line of the text", () => {
    const lines = linesOf(table, "/a/m.py", "one\r\ntwo\nthree\n");
    expect(lines.map((line) => [line.number, line.text, line.own])).toEqual([
      [1, "one", 0],
      [2, "two", null],
      [3, "three", 70],
    ]);
    expect(looksChanged(lines)).toBe(false);
    expect(hottest(lines)).toBe(2);
  });
  it("sees that a text is not the one that was profiled", () => {
    const lines = linesOf(table, "/a/m.py", "one\ntwo");
    expect(lines.at(-1)).toMatchObject({ number: 3, text: null, own: 70 });
    expect(looksChanged(lines)).toBe(true);
    expect(looksChanged(linesOf(table, "/a/m.py", "one\ntwo\n\nfour"))).toBe(true);
    expect(looksChanged(linesOf(table, "/a/m.py", null))).toBe(false);
  });
  it("leaves a column out", () => {
    const rest = without(table, "line");
    expect(rest.columns.map((one) => one.id)).toEqual(["file", "self_ps", "total_ps"]);
    expect(rest.rows[0]).toEqual(["/a/m.py", 70, 70]);
    expect(without(table, "absent")).toBe(table);
  });
  it("shortens paths from the left", () => {
    expect(shortPath("/elsewhere/project/model/net.py")).toBe("…/project/model/net.py");
    expect(shortPath("net.py")).toBe("net.py");
    expect(hottest([])).toBe(-1);
  });
});
