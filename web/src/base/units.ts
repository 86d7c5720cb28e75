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
