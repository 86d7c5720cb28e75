import { expect, it } from "vitest";

import type { Column, Table } from "../../api/types";
import { deviceActivity } from "./activity";

const column = (id: string): Column => ({ id, label: id, unit: "", kind: "text", doc: "" });

it("splits the capture into busy, idle and outside", () => {
  const devices: Table = {
    id: "devices",
    title: "",
    columns: ["device", "busy_ps", "active_window_ps", "capture_span_ps"].map(column),
    rows: [
      ["TPU:0", 60, 80, 1000],
      ["TPU:1", 60, null, 1000],
      ["TPU:2", 60, 80, null],
      ["TPU:3", null, 80, 1000],
    ],
  };
  expect(deviceActivity(devices).map((one) => [one.device, ...one.parts.map((part) => `${part.name} ${part.ps}`)])).toEqual([
    ["TPU:0", "busy 60", "idle in the active window 20", "outside the active window 920"],
    ["TPU:1", "busy 60", "idle 940"],
    ["TPU:2", "busy 60", "idle in the active window 20"],
  ]);
});

it("shows nothing without a table", () => {
  expect(deviceActivity(null)).toEqual([]);
});
