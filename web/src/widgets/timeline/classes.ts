/** What the colours mean: classes of slices get numbers and colours that stay as tiles come and go. Pure. */

import { hashName, stem } from "../../base/colour";
import type { Tile } from "./tile";
import { NO_CLASS } from "./tile";

export const SLICE_COLOURS = 10;
/** Colours for what is of no class, behind the slice colours: told apart by name, without a meaning. */
export const PLAIN_COLOURS = 3;

/** Words whose colour should be the same in every run, in the order of the slice colours. Words of one line are kin. */
const KNOWN: readonly (readonly string[])[] = [
  ["compute", "convolution", "dot", "matmul", "convolution fusion", "output fusion"],
  ["communication", "collective", "all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute"],
  ["loop fusion", "non-fusion elementwise", "input fusion", "fusion"],
  ["copy", "data formatting", "transpose", "reshape", "transfer"],
  ["idle"],
  ["infeed", "outfeed", "input", "input/outfeed", "host"],
  ["reduce", "reduction", "reduce-window", "sort"],
  ["while", "conditional", "call", "control flow"],
  ["custom-call", "custom call", "custom fusion"],
  ["async", "dynamic-update-slice", "dynamic-slice", "gather", "scatter"],
];

export function classColour(name: string): number {
  const word = name.toLowerCase();
  // Nothing is known of it, and so it looks.
  if (word === "unknown") return SLICE_COLOURS;
  const known = KNOWN.findIndex((words) => words.includes(word));
  return known >= 0 ? known : hashName(word) % SLICE_COLOURS;
}

/** Numbers for the class names of all tiles. */
export class ClassTable {
  readonly names: string[] = [];
  readonly colours: number[] = [];
  private readonly ids = new Map<string, number>();
  private readonly ofTile = new WeakMap<Tile, Int16Array>();
  private readonly ofNames = new WeakMap<Tile, Uint8Array>();

  idOf(name: string): number {
    const known = this.ids.get(name);
    if (known !== undefined) return known;
    const id = this.names.push(name) - 1;
    this.ids.set(name, id);
    this.colours.push(classColour(name));
    return id;
  }

  /** By the tile's class number, the table's; -1 for no class. */
  idsOf(tile: Tile): Int16Array {
    let ids = this.ofTile.get(tile);
    if (ids === undefined) {
      ids = new Int16Array(NO_CLASS + 1).fill(-1);
      tile.classTexts.forEach((name, i) => (ids as Int16Array).fill(this.idOf(name), i, i + 1));
      this.ofTile.set(tile, ids);
    }
    return ids;
  }

  /** By the tile's name number, the colour of the name's family. */
  nameColours(tile: Tile): Uint8Array {
    let colours = this.ofNames.get(tile);
    if (colours === undefined) {
      colours = Uint8Array.from(tile.nameTexts, (name) => hashName(stem(name)) % SLICE_COLOURS);
      this.ofNames.set(tile, colours);
    }
    return colours;
  }

  clear(): void {
    this.names.length = 0;
    this.colours.length = 0;
    this.ids.clear();
  }
}
