/** Squarified treemap (Bruls, Huizing, van Wijk 2000): areas by value, tiles as near to squares as they go. Pure. */

export interface Tile<T> {
  readonly item: T;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface Room {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** The worst ratio of sides among tiles of these areas in a row along `side`; 1 is a square. */
function worst(smallest: number, largest: number, sum: number, side: number): number {
  const square = side * side;
  return Math.max((square * largest) / (sum * sum), (sum * sum) / (square * smallest));
}

/** Tiles for the items with a value above zero, largest first. Their areas fill the room exactly. */
export function squarify<T>(items: readonly T[], valueOf: (item: T) => number, room: Room): Tile<T>[] {
  const sized = items
    .map((item) => ({ item, value: valueOf(item) }))
    .filter((one) => one.value > 0 && Number.isFinite(one.value))
    .sort((a, b) => b.value - a.value);
  const total = sized.reduce((sum, one) => sum + one.value, 0);
  if (total <= 0 || room.width <= 0 || room.height <= 0) return [];
  const scale = (room.width * room.height) / total;
  const areas = sized.map((one) => one.value * scale);
  const tiles: Tile<T>[] = [];
  let { x, y, width, height } = room;
  let from = 0;
  while (from < areas.length) {
    const side = Math.min(width, height);
    const first = areas[from] ?? 0;
    let sum = first;
    let end = from + 1;
    let ratio = worst(first, first, sum, side);
    for (; end < areas.length; end += 1) {
      const area = areas[end] ?? 0;
      const next = worst(area, first, sum + area, side);
      if (next > ratio) break;
      ratio = next;
      sum += area;
    }
    // The row lies along the shorter side and is as thick as its area asks; the last one takes what is left.
    const across = width < height;
    const thick = end === areas.length ? (across ? height : width) : sum / side;
    let along = across ? x : y;
    for (let i = from; i < end; i += 1) {
      const item = sized[i]?.item;
      const long = side * ((areas[i] ?? 0) / sum);
      if (item !== undefined)
        tiles.push(across ? { item, x: along, y, width: long, height: thick } : { item, x, y: along, width: thick, height: long });
      along += long;
    }
    if (across) {
      y += thick;
      height -= thick;
    } else {
      x += thick;
      width -= thick;
    }
    from = end;
  }
  return tiles;
}

export interface Part {
  readonly name: string;
  readonly value: number;
  /** How many parts it stands for, where it is the rest of them. */
  readonly rest?: number;
}

/** The largest parts, and one for all others: small ones have no room for a name or a finger. */
export function withRest(parts: readonly Part[], most: number, smallestShare: number): Part[] {
  const sorted = parts.filter((part) => part.value > 0).sort((a, b) => b.value - a.value);
  const total = sorted.reduce((sum, part) => sum + part.value, 0);
  const shown = sorted.filter((part, i) => i < most && part.value >= total * smallestShare);
  const rest = sorted.slice(shown.length);
  if (rest.length <= 1) return sorted;
  const value = rest.reduce((sum, part) => sum + part.value, 0);
  return [...shown, { name: `${rest.length} others`, value, rest: rest.length }];
}
