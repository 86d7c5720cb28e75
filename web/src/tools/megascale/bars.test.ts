import { expect, it } from "vitest";

import type { Column, Table } from "../../api/types";
import { latencyBars } from "./bars";

const table: Table = {
  id: "collectives",
  title: "",
  columns: ["rendezvous", "latency_ps", "stall_ps"].map((id): Column => ({ id, label: id, unit: "", kind: "int", doc: "" })),
  rows: [
    ["collective.1", 80, 36],
    ["collective.2", 40, 90],
    ["collective.3", null, 1],
  ],
};

it("splits latency in what is hidden and what is waited for", () => {
  const { rows, full } = latencyBars(table, 10);
  expect(rows.map((row) => [row.name, row.parts.map((part) => part.value)])).toEqual([
    ["collective.1", [44, 36]],
    // Four ops that wait longer than the transfer lasts: all of it is waiting.
    ["collective.2", [0, 40]],
  ]);
  expect(full).toBe(80);
  expect(latencyBars(null, 10)).toEqual({ rows: [], full: 0 });
});
