/** The canvas's colours, read from the stylesheet so that both themes have one source. */

import { hashName, mixed, stem } from "../../base/colour";
import { MEANINGS, MIXED } from "../../base/meaning";
import { PLAIN_COLOURS, SLICE_COLOURS } from "./classes";

export interface Palette {
  readonly background: string;
  readonly band: string;
  readonly line: string;
  readonly text: string;
  readonly muted: string;
  readonly accent: string;
  readonly busy: string;
  readonly shade: string;
  readonly range: string;
  readonly hidden: string;
  readonly exposed: string;
  readonly bubble: string;
  readonly hit: string;
  readonly odd: string;
  /** Families of names, what is of no class, then each meaning in its shades: as `classes` numbers them. */
  readonly slices: readonly string[];
  readonly sliceText: string;
  readonly series: readonly string[];
}

export function readPalette(element: Element): Palette {
  const style = getComputedStyle(element);
  const of = (name: string): string => style.getPropertyValue(name).trim();
  return {
    background: of("--surface"),
    band: of("--band"),
    line: of("--line"),
    text: of("--ink"),
    muted: of("--muted"),
    accent: of("--accent"),
    busy: of("--busy"),
    shade: of("--shade"),
    range: of("--range"),
    hidden: of("--tl-hidden"),
    exposed: of("--tl-exposed"),
    bubble: of("--tl-bubble"),
    hit: of("--tl-hit"),
    odd: of("--odd"),
    slices: [
      ...Array.from({ length: SLICE_COLOURS }, (_, i) => of(`--slice-${i}`)),
      ...Array.from({ length: PLAIN_COLOURS }, (_, i) => of(`--slice-plain-${i}`)),
      ...MEANINGS.flatMap((meaning) => MIXED.map((share) => mixed(of(`--s-${meaning}`), of("--surface"), share))),
    ],
    sliceText: of("--slice-text"),
    series: Array.from({ length: 8 }, (_, i) => of(`--series-${i}`)),
  };
}

/** One colour a family of names, so that a pattern repeats visibly. */
export function sliceColour(palette: Palette, name: string): string {
  return palette.slices[hashName(stem(name)) % SLICE_COLOURS] ?? palette.muted;
}
