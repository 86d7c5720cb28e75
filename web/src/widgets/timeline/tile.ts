/** A tile of the timeline as the server sends it: columns over one buffer, no object for any slice. Pure.
 *
 * Little endian; the layout is the server's contract:
 *
 *     u32 magic, tracks T, slices S, names N, classes C, text bytes B;  i64 start
 *     f64 start[S]  f64 duration[S]  u32 name[S]  i32 event[S]  u32 count[S]
 *     u32 track_id[T]  u32 track_slices[T]  u32 text_offset[N + C + 1]  u16 depth[S]  u8 class[S]  u8 text[B]
 *
 * Starts are picoseconds after the tile's start. Slices stand by track, then row, then time; those of one row do not
 * overlap, so that a row can be searched by halves. */

import type { Picos } from "../../base/units";

const MAGIC = 0x31544c48;
const HEADER = 32;
/** In the class column: the event is of no class. */
export const NO_CLASS = 255;

/** One row of one track: its slices are `from` up to `to`. */
export interface TileRow {
  readonly depth: number;
  readonly from: number;
  readonly to: number;
}

export interface TrackPart {
  readonly tile: Tile;
  readonly from: number;
  readonly to: number;
  readonly rows: readonly TileRow[];
}

export interface Tile {
  readonly start: Picos;
  readonly bytes: number;
  readonly starts: Float64Array;
  readonly durations: Float64Array;
  readonly names: Uint32Array;
  readonly events: Int32Array;
  readonly counts: Uint32Array;
  readonly depths: Uint16Array;
  readonly classes: Uint8Array;
  readonly nameTexts: readonly string[];
  readonly classTexts: readonly string[];
  readonly tracks: ReadonlyMap<number, TrackPart>;
}

class TileError extends Error {
  override name = "TileError";
}

export function decodeTile(buffer: ArrayBuffer): Tile {
  if (buffer.byteLength < HEADER) throw new TileError(`A tile of ${buffer.byteLength} bytes has no header`);
  const head = new DataView(buffer);
  if (head.getUint32(0, true) !== MAGIC) throw new TileError("The answer is no tile of this version: is the server older than the page?");
  const [trackCount, count, nameCount, classCount, textBytes] = [4, 8, 12, 16, 20].map((at) => head.getUint32(at, true)) as [
    number,
    number,
    number,
    number,
    number,
  ];
  const wanted = HEADER + count * (8 + 8 + 4 + 4 + 4 + 2 + 1) + trackCount * 8 + (nameCount + classCount + 1) * 4 + textBytes;
  if (buffer.byteLength !== wanted) throw new TileError(`A tile of ${wanted} bytes came with ${buffer.byteLength}`);
  let at = HEADER;
  const take = (bytes: number): number => {
    at += bytes;
    return at - bytes;
  };
  const starts = new Float64Array(buffer, take(8 * count), count);
  const durations = new Float64Array(buffer, take(8 * count), count);
  const names = new Uint32Array(buffer, take(4 * count), count);
  const events = new Int32Array(buffer, take(4 * count), count);
  const counts = new Uint32Array(buffer, take(4 * count), count);
  const trackIds = new Uint32Array(buffer, take(4 * trackCount), trackCount);
  const trackSlices = new Uint32Array(buffer, take(4 * trackCount), trackCount);
  const offsets = new Uint32Array(buffer, take(4 * (nameCount + classCount + 1)), nameCount + classCount + 1);
  const depths = new Uint16Array(buffer, take(2 * count), count);
  const classes = new Uint8Array(buffer, take(count), count);
  const texts = decodeTexts(new Uint8Array(buffer, take(textBytes), textBytes), offsets);
  const tracks = new Map<number, TrackPart>();
  const tile: Tile = {
    start: Number(head.getBigInt64(24, true)),
    bytes: buffer.byteLength,
    starts,
    durations,
    names,
    events,
    counts,
    depths,
    classes,
    nameTexts: texts.slice(0, nameCount),
    classTexts: texts.slice(nameCount),
    tracks,
  };
  let from = 0;
  trackIds.forEach((id, i) => {
    const to = Math.min(count, from + (trackSlices[i] ?? 0));
    tracks.set(id, { tile, from, to, rows: rowsOf(depths, from, to) });
    from = to;
  });
  return tile;
}

/** ASCII, which nearly all names are, is decoded at once and cut; anything else text by text. */
function decodeTexts(bytes: Uint8Array, offsets: Uint32Array): string[] {
  const decoder = new TextDecoder();
  const whole = decoder.decode(bytes);
  const plain = whole.length === bytes.length;
  return Array.from({ length: offsets.length - 1 }, (_, i) => {
    const [from, to] = [offsets[i] ?? 0, offsets[i + 1] ?? 0];
    return plain ? whole.slice(from, to) : decoder.decode(bytes.subarray(from, to));
  });
}

function rowsOf(depths: Uint16Array, from: number, to: number): TileRow[] {
  const rows: TileRow[] = [];
  let first = from;
  for (let i = from + 1; i <= to; i += 1) {
    if (i < to && depths[i] === depths[first]) continue;
    rows.push({ depth: depths[first] ?? 0, from: first, to: i });
    first = i;
  }
  return rows;
}

/** The first slice of a row that ends after a time (after the tile's start); the row's end where none does. */
export function firstAfter(tile: Tile, row: TileRow, time: Picos): number {
  let [low, high] = [row.from, row.to];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((tile.starts[middle] as number) + (tile.durations[middle] as number) < time) low = middle + 1;
    else high = middle;
  }
  return low;
}
