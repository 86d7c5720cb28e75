/** Scales and ticks for charts: numbers in, numbers out. */

export interface Scale {
  /** Data to pixels. */
  (value: number): number;
  readonly invert: (pixel: number) => number;
  readonly ticks: readonly number[];
}

export type Interval = readonly [number, number];

/** Round ticks (1, 2, 5 times a power of ten) that lie inside the domain, about as many as wanted. */
export function linearTicks([low, high]: Interval, wanted: number): number[] {
  if (!(high > low) || wanted < 1) return [];
  const raw = (high - low) / wanted;
  const power = 10 ** Math.floor(Math.log10(raw));
  const ratio = raw / power;
  const step = power * (ratio < 1.5 ? 1 : ratio < 3.2 ? 2 : ratio < 7.1 ? 5 : 10);
  const ticks: number[] = [];
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  for (let i = first; i <= last; i += 1) ticks.push(Number((i * step).toPrecision(12)));
  return ticks;
}

/** Powers of ten inside the domain, thinned until at most `wanted` are left. */
export function logTicks([low, high]: Interval, wanted: number): number[] {
  if (!(low > 0) || !(high > low)) return [];
  const first = Math.ceil(Math.log10(low) - 1e-9);
  const last = Math.floor(Math.log10(high) + 1e-9);
  const every = Math.max(1, Math.ceil((last - first + 1) / Math.max(1, wanted)));
  const ticks: number[] = [];
  for (let power = first; power <= last; power += every) ticks.push(10 ** power);
  return ticks;
}

export function linearScale(domain: Interval, range: Interval, wanted = 5): Scale {
  const [d0, d1] = domain;
  const [r0, r1] = range;
  const span = d1 - d0 || 1;
  return Object.assign((value: number) => r0 + ((value - d0) / span) * (r1 - r0), {
    invert: (pixel: number) => d0 + ((pixel - r0) / (r1 - r0 || 1)) * span,
    ticks: linearTicks(domain, wanted),
  });
}

/** Bytes from 0 to a little above the most. Ticks at round numbers of the binary unit that the largest is written in. */
export function binaryScale(most: number, range: Interval): Scale {
  const unit = 1024 ** Math.max(0, Math.floor(Math.log2(Math.max(1, most)) / 10));
  const inUnits = linearScale([0, (most * 1.05) / unit || 1], range, 4);
  return Object.assign((value: number) => inUnits(value / unit), {
    invert: (pixel: number) => inUnits.invert(pixel) * unit,
    ticks: inUnits.ticks.map((tick) => tick * unit),
  });
}

export function logScale(domain: Interval, range: Interval, wanted = 6): Scale {
  const inner = linearScale([Math.log10(domain[0]), Math.log10(domain[1])], range);
  return Object.assign((value: number) => inner(Math.log10(value)), {
    invert: (pixel: number) => 10 ** inner.invert(pixel),
    ticks: logTicks(domain, wanted),
  });
}

/** The smallest interval over the finite values, or null when there is none. */
export function extent(values: Iterable<number | null>): Interval | null {
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  for (const value of values) {
    if (value === null || !Number.isFinite(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? [low, high] : null;
}

export function clamp(value: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, value));
}
