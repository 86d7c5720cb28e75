import { describe, expect, it } from "vitest";

import { packTile } from "./packed";
import { decodeTile } from "./tile";
import { TILE_PX, TileStore, bestParts, indicesOf, levelOf, tileSpan, topLevel, wantedTiles } from "./tiles";

const bounds = { start: 0, end: TILE_PX * 16 };

describe("levels", () => {
  it("are never coarser than the screen", () => {
    for (const [end, width] of [
      [1e12, 1200],
      [3e9, 390],
      [200, 1000],
    ] as const) {
      expect(2 ** levelOf({ start: 0, end }, width)).toBeLessThanOrEqual(Math.max(1, end / width));
    }
  });
  it("end where one tile holds everything", () => {
    expect(topLevel(bounds)).toBe(4);
    expect(tileSpan(topLevel(bounds))).toBeGreaterThanOrEqual(bounds.end);
    expect(indicesOf(bounds, bounds, 4)).toEqual([0, 0]);
    expect(indicesOf(bounds, bounds, 2)).toEqual([0, 3]);
  });
});

it("wants the view first, then the whole, then the neighbours", () => {
  const { now, soon } = wantedTiles(bounds, { start: TILE_PX * 4, end: TILE_PX * 6 }, TILE_PX * 2);
  expect(now).toEqual([
    { level: 0, index: 4 },
    { level: 0, index: 5 },
  ]);
  expect(soon).toEqual([
    { level: 4, index: 0 },
    { level: 0, index: 6 },
    { level: 0, index: 3 },
  ]);
});

describe("the best parts", () => {
  const tile = decodeTile(packTile(0, [[1, [{ start: 0, duration: 10, name: "a" }]]]));
  const parts = (store: TileStore, view = { start: 0, end: TILE_PX * 2 }) => {
    const found: string[] = [];
    bestParts(store, bounds, view, TILE_PX * 2, 1, (_, start, end, continued) =>
      found.push(`${start}..${end}${continued ? " continued" : ""}`),
    );
    return found;
  };
  it("are those of the level, in one run", () => {
    const store = new TileStore(1e9);
    store.put({ level: 0, index: 0 }, [1], tile);
    store.put({ level: 0, index: 1 }, [1], tile);
    expect(parts(store)).toEqual([`0..${TILE_PX}`, `${TILE_PX}..${2 * TILE_PX} continued`]);
  });
  it("are coarser ones until the right ones come", () => {
    const store = new TileStore(1e9);
    store.put({ level: 4, index: 0 }, [1], tile);
    store.put({ level: 0, index: 1 }, [1], tile);
    expect(parts(store)).toEqual([`0..${TILE_PX}`, `${TILE_PX}..${2 * TILE_PX}`]);
  });
  it("are finer ones after zooming out", () => {
    const store = new TileStore(1e9);
    store.put({ level: 0, index: 1 }, [1], tile);
    expect(parts(store, { start: 0, end: TILE_PX * 4 })).toEqual([`${TILE_PX}..${2 * TILE_PX}`]);
  });
  it("are of no other track", () => {
    const store = new TileStore(1e9);
    store.put({ level: 0, index: 0 }, [2], tile);
    expect(parts(store)).toEqual([]);
    expect(store.missing({ level: 0, index: 0 }, [1, 2])).toEqual([1]);
  });
});

it("lets the tiles go that were not used for longest", () => {
  const tile = decodeTile(packTile(0, [[1, [{ start: 0, duration: 10, name: "a" }]]]));
  const store = new TileStore(tile.bytes * 2 * 4);
  for (let index = 0; index < 4; index += 1) store.put({ level: 0, index }, [1], tile);
  store.part(0, 0, 1);
  store.put({ level: 0, index: 4 }, [1], tile);
  expect(store.part(0, 0, 1)).toBeDefined();
  expect(store.part(0, 1, 1)).toBeUndefined();
  expect(store.bytes).toBeLessThanOrEqual(tile.bytes * 2 * 4);
});
