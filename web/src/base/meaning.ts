/** What colours mean, the same on every page: what a device or a host was doing. Pure; the theme's stylesheet says how each looks. */

import { hashName } from "./colour";

/** In the order of the palette. `other` is control flow and overhead; what nothing is known of is no meaning. */
export const MEANINGS = ["compute", "memory", "collective", "copy", "transfer", "host", "other", "idle"] as const;
export type Meaning = (typeof MEANINGS)[number];

/** Categories of one meaning are told apart by so many shades of its colour. */
export const SHADES = 3;

/** Words that say it outright. */
const WORDS: Readonly<Record<string, Meaning>> = {
  compute: "compute",
  memory: "memory",
  communication: "collective",
  collective: "collective",
  copy: "copy",
  transfer: "transfer",
  host: "host",
  input: "host",
  idle: "idle",
};

/** What else categories of HLO, of kernels and of host events hold, first come first served. */
const PARTS: readonly (readonly [RegExp, Meaning])[] = [
  [/^idle/, "idle"],
  [/communication|all-?reduce|all-?gather|reduce-?scatter|all-?to-?all|collective|nccl|rccl|^send|^recv|megascale/, "collective"],
  [/infeed|outfeed|transfer|h2d|d2h|host to device|device to host/, "transfer"],
  [/comput|conv(?!ert)|dot|matmul|gemm|output fusion|custom|cholesky|triangular|fft|attention|mosaic/, "compute"],
  [/cop(y|ies)|movement|layout|memcpy|memset|transpose|reshape|formatting|bitcast|concatenate|^pad|slice|async/, "copy"],
  [/while|conditional|^call|control|overhead/, "other"],
  [/memory|fusion|elementwise|reduc|sort|scatter|gather|broadcast|select|iota|rng|convert/, "memory"],
  [/host|python|tensorflow|jax|step|input|dispatch|thread/, "host"],
];

/** The meaning of a category, a class of time or a bound; null for words of which nothing is known. */
export function meaningOf(word: string): Meaning | null {
  const text = word.toLowerCase();
  return WORDS[text] ?? PARTS.find(([part]) => part.test(text))?.[1] ?? null;
}

/** Which shade of its meaning's colour a category has: the word itself the first, others by their name. */
export function shadeOf(word: string): number {
  const text = word.toLowerCase();
  return text in WORDS ? 0 : hashName(text) % SHADES;
}

/** How much of the ground is mixed into a colour for each shade, percent. */
export const MIXED: readonly number[] = [0, 20, 38];

/** A meaning's colour in a shade: `m` for bars and lines, `s` for what carries text. */
export function shadeVar(meaning: Meaning, shade: number, ground: "m" | "s" = "m"): string {
  const percent = MIXED[shade] ?? 0;
  const colour = `var(--${ground}-${meaning})`;
  return percent === 0 ? colour : `color-mix(in srgb, ${colour}, var(--surface) ${percent}%)`;
}

/** The colour of a category: that of its meaning in its shade; null where it has none. */
export function categoryVar(word: string, ground: "m" | "s" = "m"): string | null {
  const meaning = meaningOf(word);
  return meaning === null ? null : shadeVar(meaning, shadeOf(word), ground);
}

/** What bounds an op, or what its category is, has one colour on every page; what nobody knows has the colour of that. */
export function boundVar(bound: string): string | null {
  return bound === "" || /\bunknown\b/.test(bound) ? "var(--unknown)" : categoryVar(bound);
}
