/** Colours that carry meaning, by name; the theme's stylesheet says what they look like. */

/** How many series colours the stylesheet defines (`--series-0` and on). */
export const SERIES_COLOURS = 8;

export function seriesVar(index: number): string {
  return `var(--series-${index % SERIES_COLOURS})`;
}

/** FNV-1a: the same name has the same colour on every page and in every run. */
export function hashName(name: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < name.length; i += 1) {
    hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193);
  }
  // FNV's low bits alone fall into few classes for short names; mixing the high ones in spreads them.
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}

/** `fusion.12` and `fusion.7` are kin: the number at the end is left out of the colour. */
export function stem(name: string): string {
  return name.replace(/^%/, "").replace(/[.\d_]+$/, "") || name;
}

/** Colour index per distinct label, in order of first appearance. */
export function assignColours(labels: Iterable<string>): Map<string, number> {
  const colours = new Map<string, number>();
  for (const label of labels) {
    if (!colours.has(label)) colours.set(label, colours.size);
  }
  return colours;
}

/** A colour with so many percent of another in it, as the stylesheet's `color-mix(in srgb, ...)` has it; both `#rrggbb`. */
export function mixed(colour: string, other: string, percent: number): string {
  const parts = (hex: string): number[] => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
  const [from, to] = [parts(colour), parts(other)];
  const channel = (value: number, i: number): string =>
    Math.round(value + (((to[i] ?? value) - value) * percent) / 100)
      .toString(16)
      .padStart(2, "0");
  return from.some(Number.isNaN) || to.some(Number.isNaN) ? colour : `#${from.map(channel).join("")}`;
}
