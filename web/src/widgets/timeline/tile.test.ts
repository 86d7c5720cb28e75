import { describe, expect, it } from "vitest";

import { packTile } from "./packed";
import { decodeTile, firstAfter } from "./tile";

const packed = packTile(1000, [
  [
    7,
    [
      { start: 900, duration: 200, name: "größer", event: 3, className: "compute" },
      { start: 1200, duration: 50, name: "b", event: -1, count: 4, className: "copy" },
      { start: 1210, duration: 20, name: "b", depth: 1, event: 5 },
    ],
  ],
  [9, []],
]);

describe("a tile", () => {
  const tile = decodeTile(packed);
  it("gives back what was packed, as views of the buffer", () => {
    expect(tile.start).toBe(1000);
    expect([...tile.starts]).toEqual([-100, 200, 210]);
    expect([...tile.events]).toEqual([3, -1, 5]);
    expect([...tile.counts]).toEqual([1, 4, 1]);
    expect([...tile.classes]).toEqual([0, 1, 255]);
    expect(tile.nameTexts).toEqual(["größer", "b"]);
    expect(tile.classTexts).toEqual(["compute", "copy"]);
    expect(tile.starts.buffer).toBe(packed);
  });
  it("knows the rows of each track", () => {
    expect(tile.tracks.get(7)?.rows).toEqual([
      { depth: 0, from: 0, to: 2 },
      { depth: 1, from: 2, to: 3 },
    ]);
    expect(tile.tracks.get(9)?.rows).toEqual([]);
  });
  it("finds the first slice that ends after a time", () => {
    const row = tile.tracks.get(7)?.rows[0];
    if (row === undefined) throw new Error("expected a row");
    expect([-500, 100, 101, 251].map((time) => firstAfter(tile, row, time))).toEqual([0, 0, 1, 2]);
  });
  it("is refused when it is cut or of another kind", () => {
    expect(() => decodeTile(packed.slice(0, packed.byteLength - 1))).toThrow(/bytes/);
    expect(() => decodeTile(new ArrayBuffer(8))).toThrow(/header/);
    expect(() => decodeTile(new ArrayBuffer(64))).toThrow(/no tile/);
  });
});
