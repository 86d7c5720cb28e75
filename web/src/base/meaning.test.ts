import { describe, expect, it } from "vitest";

import theme from "../styles/theme.css?raw";
import { MEANINGS, MIXED, SHADES, boundVar, categoryVar, meaningOf, shadeOf } from "./meaning";

describe("what a category means", () => {
  it("is said by words of HLO, of kernels and of hosts", () => {
    const said: Record<string, string> = {
      "convolution fusion": "compute",
      dot: "compute",
      "custom-call": "compute",
      gemm: "compute",
      "ragged-dot": "compute",
      "ragged-all-to-all": "collective",
      "collective-permute": "collective",
      "loop fusion": "memory",
      "input fusion": "memory",
      "non-fusion elementwise": "memory",
      reduce: "memory",
      "all-reduce": "collective",
      "all-gather": "collective",
      "all-reduce-scatter fusion": "collective",
      "collective kernel": "collective",
      communication: "collective",
      gather: "memory",
      "data formatting": "copy",
      memcpy: "copy",
      "dynamic-update-slice": "copy",
      infeed: "transfer",
      MemcpyH2D: "transfer",
      "host transfer": "transfer",
      while: "other",
      call: "other",
      python: "host",
      "JAX op": "host",
      idle: "idle",
      "exposed communication": "collective",
      "compute-bound ops": "compute",
      "memory-bound ops": "memory",
      "idle time": "idle",
      "waits for asynchronous copies": "copy",
      "copies and layout changes": "copy",
      "data movement": "copy",
      "programs' own overhead": "other",
      convert: "memory",
    };
    for (const [word, meaning] of Object.entries(said)) expect([word, meaningOf(word)]).toEqual([word, meaning]);
  });
  it("is unknown where nothing is known", () => {
    expect(meaningOf("frobnicate")).toBeNull();
    expect(categoryVar("frobnicate")).toBeNull();
    expect(meaningOf("unknown")).toBeNull();
    expect(boundVar("")).toBe(boundVar("unknown"));
    expect(boundVar("ops of unknown limit")).toBe(boundVar("unknown"));
  });
  it("has one colour, and categories of one meaning are shades of it", () => {
    expect(categoryVar("memory")).toBe("var(--m-memory)");
    expect(boundVar("communication")).toBe("var(--m-collective)");
    expect(categoryVar("loop fusion")).toContain("--m-memory");
    expect(shadeOf("compute")).toBe(0);
    expect(MIXED).toHaveLength(SHADES);
  });
});

type Rgb = readonly [number, number, number];

/** The colours of a theme by name, read from the stylesheet. */
function coloursOf(which: "light" | "dark", prefix: string): Rgb[] {
  const at = theme.indexOf("[data-theme");
  const part = which === "light" ? theme.slice(0, at) : theme.slice(at);
  return MEANINGS.map((meaning) => {
    const hex = new RegExp(`--${prefix}-${meaning}: #([0-9a-f]{6})`).exec(part)?.[1] ?? "";
    expect([which, meaning, hex.length]).toEqual([which, meaning, 6]);
    return [0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16) / 255) as unknown as Rgb;
  });
}

const linear = (value: number): number => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);

function luminance(rgb: Rgb): number {
  const [r, g, b] = rgb.map(linear) as unknown as Rgb;
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(a: Rgb, b: Rgb): number {
  const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

/** CIE Lab of linear RGB under D65. */
function lab(rgb: readonly number[]): Rgb {
  const [r = 0, g = 0, b = 0] = rgb;
  const f = (value: number): number => (value > 0.008856 ? Math.cbrt(value) : 7.787 * value + 16 / 116);
  const x = f((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505);
  const y = f(0.2126 * r + 0.7152 * g + 0.0722 * b);
  const z = f((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089);
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

/** How eyes see linear RGB (Machado, Oliveira and Fernandes 2009, severity 1). */
const EYES: Readonly<Record<string, readonly (readonly number[])[]>> = {
  usual: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protanopia: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deuteranopia: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritanopia: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};

function seen(eye: string, rgb: Rgb): Rgb {
  const from = rgb.map(linear);
  return lab(
    (EYES[eye] ?? []).map((row) =>
      Math.min(
        1,
        Math.max(
          0,
          row.reduce((sum, part, i) => sum + part * (from[i] ?? 0), 0),
        ),
      ),
    ),
  );
}

/** Two colours so far apart in Lab are told apart side by side; 2.3 is just noticeable. */
const APART = 9;

describe.each(["light", "dark"] as const)("the palette, %s", (which) => {
  it.each(Object.keys(EYES))("is told apart with %s", (eye) => {
    for (const prefix of ["m", "s"]) {
      const colours = coloursOf(which, prefix).map((rgb) => seen(eye, rgb));
      for (let i = 0; i < colours.length; i += 1) {
        for (let j = 0; j < i; j += 1) {
          const [a, b] = [colours[i] as Rgb, colours[j] as Rgb];
          const distance = Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
          expect(distance, `${prefix}: ${MEANINGS[i]} and ${MEANINGS[j]}: ${distance.toFixed(1)}`).toBeGreaterThan(APART);
        }
      }
    }
  });
  it("lets names on slices be read", () => {
    const text: Rgb = which === "light" ? [0x17 / 255, 0x21 / 255, 0x2b / 255] : [0xf0 / 255, 0xf5 / 255, 0xf8 / 255];
    for (const colour of coloursOf(which, "s")) expect(contrast(colour, text)).toBeGreaterThan(4.5);
  });
});
