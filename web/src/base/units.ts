/** Plain numbers that carry a unit in their type's name, so that signatures say what they take. */

/** Picoseconds. Integers up to 2^53 hold two and a half hours exactly. */
export type Picos = number;
export type Bytes = number;
/** A fraction, 0 to 1. */
export type Share = number;
/** CSS pixels, as opposed to the pixels of the device. */
export type Px = number;

export const PS_PER_NS = 1e3;
export const PS_PER_US = 1e6;
export const PS_PER_MS = 1e9;
export const PS_PER_S = 1e12;

const UNIT_WORDS: Readonly<Record<string, string>> = {
  ps: "time; in exports in picoseconds (ps)",
  B: "bytes; 1 KiB is 1024 B",
  "1": "a plain number; a share is 0 to 1 in exports",
  FLOP: "floating-point operations",
  "FLOP/s": "floating-point operations per second; 1 TFLOP/s is 10^12 of them",
  "B/s": "bytes per second; 1 GB/s is 10^9 of them",
  "FLOP/B": "floating-point operations per byte moved",
};

/** A definition with its unit and the name that scripts use, a line each. */
export function explain(doc: string | undefined, unit: string | undefined, id: string | undefined): string {
  const about = unit === undefined ? "" : (UNIT_WORDS[unit] ?? unit);
  return [doc ?? "", about === "" ? "" : `Unit: ${about}`, (doc ?? "") === "" || id === undefined ? "" : `In exports: ${id}`]
    .filter((line) => line !== "")
    .join("\n");
}
