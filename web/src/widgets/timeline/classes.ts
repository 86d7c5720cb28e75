/** What the colours mean: classes of slices get numbers and colours that stay as tiles come and go. Pure. */

import { hashName, stem } from "../../base/colour";
import { MEANINGS, SHADES, meaningOf, shadeOf, shadeVar } from "../../base/meaning";
import type { Tile } from "./tile";
import { NO_CLASS } from "./tile";

export const SLICE_COLOURS = 10;
/** Colours for what is of no class, behind the slice colours: told apart by name, without a meaning. */
export const PLAIN_COLOURS = 3;

/** Where the colours of meanings begin: behind those of families of names, and of what is of no class. */
const MEANT = SLICE_COLOURS + PLAIN_COLOURS;
/** All colours of slices. */
export const ALL_COLOURS = MEANT + MEANINGS.length * SHADES;

/** The colour of a category or of a class of time: that of its meaning, on every page and in every run. */
export function classColour(name: string): number {
  const word = name.toLowerCase();
  // Nothing is known of it, and so it looks.
  if (word === "unknown") return SLICE_COLOURS;
  const meaning = meaningOf(word);
  return meaning === null ? hashName(word) % SLICE_COLOURS : MEANT + MEANINGS.indexOf(meaning) * SHADES + shadeOf(word);
}

/** The same for the stylesheet. */
export function sliceVar(colour: number): string {
  if (colour < SLICE_COLOURS) return `var(--slice-${colour})`;
  if (colour < MEANT) return `var(--slice-plain-${colour - SLICE_COLOURS})`;
  return shadeVar(MEANINGS[Math.floor((colour - MEANT) / SHADES)] ?? "other", (colour - MEANT) % SHADES, "s");
}

/** Numbers for the class names of all tiles. */
export class ClassTable {
  readonly names: string[] = [];
  readonly colours: number[] = [];
  /** Whether names are categories, which mean something; programs only have names. */
  meant = true;
  private readonly ids = new Map<string, number>();
  private readonly ofTile = new WeakMap<Tile, Int16Array>();
  private readonly ofNames = new WeakMap<Tile, Uint8Array>();

  idOf(name: string): number {
    const known = this.ids.get(name);
    if (known !== undefined) return known;
    const id = this.names.push(name) - 1;
    this.ids.set(name, id);
    this.colours.push(this.meant ? classColour(name) : hashName(name.toLowerCase()) % SLICE_COLOURS);
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
