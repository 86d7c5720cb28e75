/** Stretches of time as people write them: `1.5ms..20ms`. Pure. */

import type { Picos } from "./units";
import { PS_PER_MS, PS_PER_NS, PS_PER_S, PS_PER_US } from "./units";

/** As the server reads them; `µs` because the page writes it so. */
const SIZES: Readonly<Record<string, number>> = {
  ps: 1,
  ns: PS_PER_NS,
  us: PS_PER_US,
  µs: PS_PER_US,
  μs: PS_PER_US,
  ms: PS_PER_MS,
  s: PS_PER_S,
};

/** Largest first, each no larger than what it is to say. */
const NAMED: readonly (readonly [string, number])[] = [
  ["s", PS_PER_S],
  ["ms", PS_PER_MS],
  ["us", PS_PER_US],
  ["ns", PS_PER_NS],
];

function parseTime(text: string, unit: string): Picos | null {
  const match = /^(\d+(?:\.\d+)?|\.\d+)\s*([a-zµμ]*)$/i.exec(text.trim());
  if (match === null) return null;
  const size = SIZES[(match[2] === "" ? unit : (match[2] ?? "")).toLowerCase()];
  const value = size === undefined ? NaN : Math.round(Number(match[1]) * size);
  return Number.isSafeInteger(value) ? value : null;
}

/** Start and end in picoseconds; null where it is no window. A unit at the end counts for both: `1.5..20ms`. Without any it is
 * picoseconds. */
export function parseWindowText(text: string): readonly [Picos, Picos] | null {
  const parts = text.split(/\.\.\.?|\s+to\s+|…/);
  const [from, to] = parts;
  if (parts.length !== 2 || from === undefined || to === undefined) return null;
  const unit = /[a-zµμ]+$/i.exec(to.trim())?.[0] ?? "ps";
  const [start, end] = [parseTime(from, unit), parseTime(to, unit)];
  return start !== null && end !== null && end > start ? [start, end] : null;
}

function timeText(ps: Picos): string {
  const [name, size] = NAMED.find(([, one]) => ps >= one) ?? ["ps", 1];
  // Exact: what is read back is the same number of picoseconds.
  const decimals = Math.round(Math.log10(size));
  const text = (ps / size).toFixed(decimals);
  return `${decimals === 0 ? text : text.replace(/\.?0+$/, "")}${name}`;
}

/** `1.5ms..20ms`, to the picosecond. */
export function windowText(start: Picos, end: Picos): string {
  return start === 0 ? `0${/[a-z]+$/.exec(timeText(end))?.[0] ?? ""}..${timeText(end)}` : `${timeText(start)}..${timeText(end)}`;
}
