/** Packs slices as the server does; for tests. */

export interface PackedSlice {
  readonly start: number;
  readonly duration: number;
  readonly name: string;
  readonly depth?: number;
  readonly event?: number;
  readonly count?: number;
  readonly className?: string;
}

/** Slices by track, in the order given; starts are on the run's clock. */
export function packTile(start: number, tracks: readonly (readonly [number, readonly PackedSlice[]])[]): ArrayBuffer {
  const slices = tracks.flatMap(([, own]) => own);
  const names = [...new Set(slices.map((slice) => slice.name))];
  const classes = [...new Set(slices.flatMap((slice) => (slice.className === undefined ? [] : [slice.className])))];
  const texts = [...names, ...classes].map((text) => new TextEncoder().encode(text));
  const textBytes = texts.reduce((sum, text) => sum + text.length, 0);
  const size = 32 + slices.length * 31 + tracks.length * 8 + (texts.length + 1) * 4 + textBytes;
  const buffer = new ArrayBuffer(size);
  const view = new DataView(buffer);
  [0x31544c48, tracks.length, slices.length, names.length, classes.length, textBytes].forEach((value, i) =>
    view.setUint32(i * 4, value, true),
  );
  view.setBigInt64(24, BigInt(start), true);
  let at = 32;
  const column = (values: readonly number[], width: number, set: (to: number, value: number) => void): void => {
    values.forEach((value, i) => set(at + i * width, value));
    at += values.length * width;
  };
  const f64 = (to: number, value: number): void => view.setFloat64(to, value, true);
  const u32 = (to: number, value: number): void => view.setUint32(to, value, true);
  const of = (pick: (slice: PackedSlice) => number): number[] => slices.map(pick);
  column(
    of((slice) => slice.start - start),
    8,
    f64,
  );
  column(
    of((slice) => slice.duration),
    8,
    f64,
  );
  column(
    of((slice) => names.indexOf(slice.name)),
    4,
    u32,
  );
  column(
    of((slice) => slice.event ?? 0),
    4,
    (to, value) => view.setInt32(to, value, true),
  );
  column(
    of((slice) => slice.count ?? 1),
    4,
    u32,
  );
  column(
    tracks.map(([id]) => id),
    4,
    u32,
  );
  column(
    tracks.map(([, own]) => own.length),
    4,
    u32,
  );
  let end = 0;
  column([0, ...texts.map((text) => (end += text.length))], 4, u32);
  column(
    of((slice) => slice.depth ?? 0),
    2,
    (to, value) => view.setUint16(to, value, true),
  );
  column(
    of((slice) => (slice.className === undefined ? 255 : classes.indexOf(slice.className))),
    1,
    (to, value) => view.setUint8(to, value),
  );
  for (const text of texts) {
    new Uint8Array(buffer, at, text.length).set(text);
    at += text.length;
  }
  return buffer;
}
