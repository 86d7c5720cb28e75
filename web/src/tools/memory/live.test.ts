import { describe, expect, it } from "vitest";

import type { Column } from "../../api/types";
import type { LivePoint } from "./live";
import { boxAt, peakIndex, pointAt, readBoxes, scheduleOf, stepPath } from "./live";

const points: LivePoint[] = [5, 9, 9, 2].map((bytes, i) => ({ at: i * 10, bytes }));

describe("live bytes", () => {
  it("have a peak, the first of equals", () => {
    expect(peakIndex(points)).toBe(1);
    expect(peakIndex([])).toBe(-1);
  });
  it("hold until the next instruction", () => {
    expect(pointAt(points, 19)).toBe(1);
    expect(pointAt(points, 20)).toBe(2);
    expect(pointAt(points, -4)).toBe(0);
    expect(pointAt(points, 999)).toBe(3);
    expect(pointAt([], 1)).toBe(-1);
  });
  it("draw as steps", () => {
    const same = (v: number): number => v;
    expect(stepPath(points, [0, 40], same, same)).toBe("M0 5.0H10V9.0H20V9.0H30V2.0H40.0");
    expect(stepPath([], [0, 40], same, same)).toBe("");
  });
  it("keep a peak of one instruction however many share a pixel", () => {
    const many: LivePoint[] = Array.from({ length: 30_000 }, (_, i) => ({ at: i, bytes: i === 17_777 ? 99 : 1 }));
    const path = stepPath(
      many,
      [0, 30_000],
      (v) => v / 100,
      (v) => v,
    );
    expect(path).toContain("V99.0");
    expect(path.length).toBeLessThan(20_000);
  });
});

describe("boxes", () => {
  const column = (id: string): Column => ({ id, label: id, unit: "", kind: "int", doc: "" });
  const table = {
    id: "allocations",
    title: "",
    columns: ["instruction", "offset_bytes", "bytes", "from_event", "until_event"].map(column),
    rows: [
      ["a", 0, 100, 0, 50],
      ["b", 20, 10, 10, 20],
      ["unknown", null, 10, 0, 1],
      ["point", 200, 10, 7, 7],
    ],
  };
  const boxes = readBoxes(table);
  it("leave out what has no place, and keep what lives for a moment", () => {
    expect(boxes.map((box) => [box.name, box.row, box.end])).toEqual([
      ["a", 0, 50],
      ["b", 1, 20],
      ["point", 3, 8],
    ]);
    expect(readBoxes(null)).toEqual([]);
  });
  it("are found by time and offset", () => {
    expect(boxAt(boxes, 15, 25)?.name).toBe("b");
    expect(boxAt(boxes, 25, 25)?.name).toBe("a");
    expect(boxAt(boxes, 50, 25)).toBeNull();
  });
  it("and points say how long the schedule is", () => {
    expect(scheduleOf(points, boxes)).toEqual([0, 50]);
    expect(scheduleOf([], [])).toEqual([0, 1]);
  });
});
