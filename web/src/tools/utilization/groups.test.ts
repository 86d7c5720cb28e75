import { expect, it } from "vitest";

import type { Column, Table } from "../../api/types";
import { devicesOf, groupsOf } from "./groups";

const table: Table = {
  id: "units",
  title: "",
  columns: ["device", "unit", "core", "share"].map((id): Column => ({ id, label: id, unit: "", kind: "text", doc: "" })),
  rows: [
    ["TPU:0", "Scalar Unit", 0, 0.1],
    ["TPU:0", "Avg MXU Busy", 0, 0.4],
    ["TPU:0", "Something new", 1, null],
    ["TPU:1", "HBM Rd+Wr - core 0", 0, 0.2],
  ],
};

it("sorts units by what they are for, and leaves none out", () => {
  expect(devicesOf(table)).toEqual(["TPU:0", "TPU:1"]);
  expect(groupsOf(table, "TPU:0")).toEqual([
    { name: "Matrix units", rows: [{ row: 1, name: "Avg MXU Busy, core 0", share: 0.4 }] },
    { name: "Vector and scalar units", rows: [{ row: 0, name: "Scalar Unit, core 0", share: 0.1 }] },
    { name: "Other units", rows: [{ row: 2, name: "Something new, core 1", share: null }] },
  ]);
  // One core needs no naming.
  expect(groupsOf(table, "TPU:1")[0]?.rows[0]?.name).toBe("HBM Rd+Wr - core 0");
  expect(groupsOf(null, "")).toEqual([]);
});
