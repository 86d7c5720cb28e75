import { describe, expect, it } from "vitest";

import { squarify, withRest } from "./treemap";

const room = { x: 0, y: 0, width: 600, height: 400 };
const area = (tile: { width: number; height: number }): number => tile.width * tile.height;

describe("squarify", () => {
  it("gives the tiles of the paper's example", () => {
    const tiles = squarify([6, 6, 4, 3, 2, 2, 1], (v) => v, { x: 0, y: 0, width: 6, height: 4 });
    expect(tiles.slice(0, 2).map(({ x, y, width, height }) => [x, y, width, height])).toEqual([
      [0, 0, 3, 2],
      [0, 2, 3, 2],
    ]);
    const third = tiles[2];
    expect(third?.item).toBe(4);
    expect(third?.width).toBeCloseTo(12 / 7);
    expect(third?.height).toBeCloseTo(7 / 3);
  });
  it("fills the room, by value, without overlap", () => {
    const values = [0.5, 120, 33, 33, 8, 1, 77, 2];
    const tiles = squarify(values, (v) => v, room);
    const total = values.reduce((a, b) => a + b, 0);
    expect(tiles).toHaveLength(values.length);
    for (const tile of tiles) expect(area(tile)).toBeCloseTo((tile.item / total) * 240_000, 3);
    expect(tiles.reduce((sum, tile) => sum + area(tile), 0)).toBeCloseTo(240_000, 3);
    for (const tile of tiles) {
      expect(tile.x + tile.width).toBeLessThanOrEqual(600 + 1e-6);
      expect(tile.y + tile.height).toBeLessThanOrEqual(400 + 1e-6);
      for (const other of tiles) {
        const apart =
          tile === other ||
          tile.x + tile.width <= other.x + 1e-6 ||
          other.x + other.width <= tile.x + 1e-6 ||
          tile.y + tile.height <= other.y + 1e-6 ||
          other.y + other.height <= tile.y + 1e-6;
        expect(apart).toBe(true);
      }
    }
  });
  it("leaves out what has no area, and survives having none", () => {
    expect(squarify([1, 0, -2, Number.NaN], (v) => v, room)).toHaveLength(1);
    expect(squarify([0], (v) => v, room)).toEqual([]);
    expect(squarify([1], (v) => v, { ...room, width: 0 })).toEqual([]);
  });
});

describe("withRest", () => {
  const parts = [5, 1, 60, 30, 1, 3].map((value, i) => ({ name: `p${i}`, value }));
  it("gathers the small ones and loses nothing", () => {
    const kept = withRest(parts, 10, 0.04);
    expect(kept.map((part) => part.name)).toEqual(["p2", "p3", "p0", "3 others"]);
    expect(kept.reduce((sum, part) => sum + part.value, 0)).toBe(100);
    expect(kept[3]?.rest).toBe(3);
  });
  it("never hides a single one behind a word", () => {
    expect(withRest(parts, 5, 0).map((part) => part.name)).toEqual(["p2", "p3", "p0", "p5", "p1", "p4"]);
    expect(withRest([], 5, 0)).toEqual([]);
  });
});
