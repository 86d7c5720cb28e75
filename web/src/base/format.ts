/** Every number the page shows is written here. Unknown is a word, never a zero. */

import type { Picos, Share } from "./units";
import { PS_PER_MS, PS_PER_NS, PS_PER_S, PS_PER_US } from "./units";

export const UNKNOWN = "unknown";

/** A cell of a report's table. */
export type Cell = string | number | boolean | null;

interface Step {
  readonly size: number;
  readonly name: string;
}

const TIME: readonly Step[] = [
  { size: 1, name: "ps" },
  { size: PS_PER_NS, name: "ns" },
  { size: PS_PER_US, name: "µs" },
  { size: PS_PER_MS, name: "ms" },
  { size: PS_PER_S, name: "s" },
];

const BINARY: readonly Step[] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"].map((name, i) => ({ size: 1024 ** i, name }));

const DECIMAL: readonly Step[] = ["", "k", "M", "G", "T", "P", "E"].map((name, i) => ({ size: 1000 ** i, name }));

/** `digits` significant digits, without an exponent for anything a reader would write out. */
export function significant(value: number, digits = 4): string {
  if (value === 0) return "0";
  const magnitude = Math.floor(Math.log10(Math.abs(Number(value.toPrecision(digits)))));
  if (magnitude < -4 || magnitude > 8) return value.toExponential(digits - 1);
  return value.toFixed(Math.max(0, digits - 1 - magnitude));
}

/** Picks the step after rounding, so that 999.96 ns is 1.000 µs and not 1000 ns. */
function scaled(value: number, steps: readonly Step[], digits: number, whole: boolean): string {
  const size = Math.abs(value);
  let chosen = steps[0] ?? { size: 1, name: "" };
  for (const step of steps) {
    if (Number((size / step.size).toPrecision(digits)) >= 1) chosen = step;
  }
  const inUnit = value / chosen.size;
  const text = whole && chosen.size === 1 && Number.isInteger(value) ? String(value) : significant(inUnit, digits);
  return chosen.name === "" ? text : `${text} ${chosen.name}`;
}

export function formatDuration(value: Picos, digits = 4): string {
  return value === 0 ? "0 s" : scaled(value, TIME, digits, true);
}

/** For axes, where `5 ms` stands beside `12.5 ms`. */
export function formatTick(value: Picos): string {
  return formatDuration(value, 3).replace(/\.?0+(?= )/, (zeros, at: number, text: string) => (text.lastIndexOf(".", at) < 0 ? zeros : ""));
}

export function formatBytes(value: number, digits = 4): string {
  return scaled(value, BINARY, digits, true);
}

/** Decimal prefixes on any unit: 1.23 TFLOP/s, 819.0 GB/s. */
export function formatQuantity(value: number, unit: string, digits = 4): string {
  const text = scaled(value, DECIMAL, digits, true);
  if (unit === "" || unit === "1") return text;
  return /[kMGTPE]$/.test(text) ? text + unit : `${text} ${unit}`;
}

export function formatShare(value: Share): string {
  const percent = value * 100;
  if (value > 0 && percent < 0.1) return "<0.1%";
  if (value < 0 && percent > -0.1) return ">-0.1%";
  if (Math.abs(percent) >= 1000) return `${formatInt(percent)}%`;
  if (value < 1 && percent > 99.9 && percent < 100) return ">99.9%";
  return `${percent.toFixed(1)}%`;
}

export function formatInt(value: number): string {
  return Math.round(value)
    .toString()
    .replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");
}

export function formatFloat(value: number): string {
  return Number.isInteger(value) && Math.abs(value) < 1e9 ? formatInt(value) : significant(value);
}

/** A number with its unit, where nothing says what kind of number it is. */
export function formatValue(value: Cell, unit: string): string {
  if (value === null) return UNKNOWN;
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "string") return value;
  switch (unit) {
    case "ps":
      return formatDuration(value);
    case "B":
      return formatBytes(value);
    case "1":
    case "":
      return formatFloat(value);
    case "FLOP":
    case "FLOP/s":
    case "B/s":
    case "Hz":
      return formatQuantity(value, unit);
    case "%":
      return `${value.toFixed(1)}%`;
    default:
      return `${formatFloat(value)} ${unit}`;
  }
}

/** A cell of a table column, by the column's kind. */
export function formatCell(value: Cell, kind: string, unit: string): string {
  if (value === null) return UNKNOWN;
  if (typeof value === "string") return value;
  if (typeof value === "boolean") return value ? "yes" : "no";
  switch (kind) {
    case "share":
      return formatShare(value);
    case "duration_ps":
      return formatDuration(value);
    case "bytes":
      return formatBytes(value);
    case "rate":
      return formatQuantity(value, unit);
    case "int":
      return unit === "FLOP" ? formatQuantity(value, unit) : unit === "" || unit === "1" ? formatInt(value) : formatValue(value, unit);
    case "flag":
      return value === 0 ? "no" : "yes";
    default:
      return formatValue(value, unit);
  }
}

/** The unit of a row whose table has quantities, by the word in its cell `unit`, as kind and unit of a column. */
const WORDS: Readonly<Record<string, readonly [string, string]>> = {
  ps: ["duration_ps", "ps"],
  B: ["bytes", "B"],
  "FLOP/s": ["rate", "FLOP/s"],
  "B/s": ["rate", "B/s"],
  share: ["share", "1"],
  count: ["int", "1"],
  ratio: ["float", "1"],
};

/** A number whose unit another cell of its row names: `ps`, `share`, `count`, `ratio`. */
export function formatMixed(value: Cell, word: string): string {
  const [kind, unit] = WORDS[word] ?? ["float", word];
  return formatCell(value, kind, unit);
}

/** A difference of two such numbers, with its sign; shares differ by points of percent. */
export function formatChange(value: Cell, word: string): string {
  if (typeof value !== "number" || value === 0) return formatMixed(value, word);
  const size = word === "share" ? `${significant(Math.abs(value) * 100)} points` : formatMixed(Math.abs(value), word);
  return `${value > 0 ? "+" : "−"}${size}`;
}

/** Local date and time to the minute, in the order that sorts. */
export function formatDate(ms: number): string {
  const date = new Date(ms);
  const two = (n: number): string => String(n).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}`;
}
