import { describe, expect, it } from "vitest";

import { ClassTable } from "./classes";
import { packTile } from "./packed";
import type { Loaded } from "./picks";
import { classesInView, findEvent, neighbour, sliceAt, slicesInView } from "./picks";
import { decodeTile } from "./tile";
import { TILE_PX, TileStore } from "./tiles";

/** Two tiles; the slice "long" stands in both. */
function loaded(): Loaded {
  const long = { start: TILE_PX - 100, duration: 300, name: "long", event: 1, className: "copy" };
  const first = [{ start: 10, duration: 80, name: "a", event: 0, className: "dot" }, long];
  const second = [long, { start: TILE_PX + 500, duration: 10, name: "b", event: -1, count: 6, className: "dot" }];
  const inner = { start: 20, duration: 10, name: "inner", depth: 1, event: 2 };
  const store = new TileStore(1e9);
  store.put({ level: 0, index: 0 }, [1], decodeTile(packTile(0, [[1, [...first, inner]]])));
  store.put({ level: 0, index: 1 }, [1], decodeTile(packTile(TILE_PX, [[1, second]])));
  return { store, bounds: { start: 0, end: TILE_PX * 2 }, view: { start: 0, end: TILE_PX * 2 }, width: TILE_PX * 2 };
}

describe("sliceAt", () => {
  it("finds by time and depth, the deepest where no depth is given", () => {
    expect(sliceAt(loaded(), 1, 25, 0, 0)?.name).toBe("a");
    expect(sliceAt(loaded(), 1, 25, 1, 0)?.name).toBe("inner");
    expect(sliceAt(loaded(), 1, 25, null, 0)?.name).toBe("inner");
    expect(sliceAt(loaded(), 1, 400, 0, 5)).toBeNull();
    expect(sliceAt(loaded(), 2, 25, 0, 0)).toBeNull();
  });
  it("forgives a miss by the slack, and takes the nearest", () => {
    expect(sliceAt(loaded(), 1, 93, 0, 5)?.name).toBe("a");
    expect(sliceAt(loaded(), 1, 96, 0, 5)).toBeNull();
  });
  it("gives exact times on the run's clock from any tile", () => {
    const picked = sliceAt(loaded(), 1, TILE_PX + 50, 0, 0);
    expect([picked?.start, picked?.duration, picked?.event]).toEqual([TILE_PX - 100, 300, 1]);
  });
});

it("walks along a row across tiles and ends", () => {
  const from = sliceAt(loaded(), 1, 25, 0, 0);
  if (from === null) throw new Error("expected a slice");
  const second = neighbour(loaded(), from, 1);
  const third = second === null ? null : neighbour(loaded(), second, 1);
  expect([second?.name, third?.name]).toEqual(["long", "b"]);
  expect(third === null ? null : neighbour(loaded(), third, 1)).toBeNull();
  expect(third === null ? null : neighbour(loaded(), third, -1)?.name).toBe("long");
  expect(neighbour(loaded(), from, -1)).toBeNull();
});

it("lists each slice in view once, and counts the events of each class", () => {
  expect(slicesInView(loaded(), [1], 10).slices.map((one) => one.name)).toEqual(["a", "inner", "long", "b"]);
  expect(slicesInView(loaded(), [1], 2).more).toBe(true);
  const counts = classesInView(loaded(), [1], new ClassTable());
  expect(counts.map((one) => [one.name, one.count, one.about])).toEqual([
    ["dot", 7, true],
    // Any of the six that share a slice may be a copy.
    ["copy", 1, true],
    ["", 1, true],
  ]);
  // Zoomed in, each event has a slice of its own.
  const near = { ...loaded(), view: { start: 0, end: TILE_PX } };
  expect(classesInView(near, [1], new ClassTable()).map((one) => [one.name, one.count, one.about])).toEqual([
    ["copy", 1, false],
    ["dot", 1, false],
    ["", 1, false],
  ]);
});

it("finds an event by its number", () => {
  expect(findEvent(loaded(), 1, 2, 20)?.name).toBe("inner");
  expect(findEvent(loaded(), 1, 9, 20)).toBeNull();
});
