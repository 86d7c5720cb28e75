/** The canvas's colours, read from the stylesheet so that both themes have one source. */

import { hashName, stem } from "../../base/colour";

export interface Palette {
  readonly background: string;
  readonly band: string;
  readonly line: string;
  readonly text: string;
  readonly muted: string;
  readonly accent: string;
  readonly shade: string;
  readonly range: string;
  readonly merged: string;
  readonly slices: readonly string[];
  readonly sliceText: string;
}

const SLICE_COLOURS = 10;

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
    shade: of("--shade"),
    range: of("--range"),
    merged: of("--merged"),
    slices: Array.from({ length: SLICE_COLOURS }, (_, i) => of(`--slice-${i}`)),
    sliceText: of("--slice-text"),
  };
}

/** One colour a family of names, so that a pattern repeats visibly along the track. */
export function sliceColour(palette: Palette, name: string): string {
  return palette.slices[hashName(stem(name)) % palette.slices.length] ?? palette.merged;
}
