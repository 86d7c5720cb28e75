/** Where the nodes of a tree stand in a flame graph: width by size, a row a level. Pure. */

import type { FlatNode } from "./flat";
import { childrenOf, numberOf } from "./flat";

export interface FlameBox {
  readonly index: number;
  readonly x: number;
  readonly width: number;
  readonly row: number;
}

/** Boxes below `top` in `width` pixels, `top` first. What is narrower than `least` has no room for itself or its parts. */
export function flame(all: readonly FlatNode[], top: number, size: number, width: number, least = 1.5): FlameBox[] {
  const boxes: FlameBox[] = [];
  const whole = numberOf(all[top]?.node, size);
  if (whole <= 0 || width <= 0) return boxes;
  const add = (index: number, x: number, wide: number, row: number): void => {
    boxes.push({ index, x, width: wide, row });
    const own = numberOf(all[index]?.node, size);
    let at = x;
    for (const child of childrenOf(all, index)) {
      const part = own > 0 ? (numberOf(all[child]?.node, size) / own) * wide : 0;
      if (part >= least) add(child, at, part, row + 1);
      at += part;
    }
  };
  add(top, 0, width, 0);
  return boxes;
}

/** The box that an arrow key leads to from the one at `from`; itself where there is none. */
export function neighbour(boxes: readonly FlameBox[], from: number, key: string): number {
  const here = boxes.find((box) => box.index === from) ?? boxes[0];
  if (here === undefined) return from;
  const middle = here.x + here.width / 2;
  const inRow = (row: number): FlameBox[] => boxes.filter((box) => box.row === row).sort((a, b) => a.x - b.x);
  const around = inRow(here.row);
  const at = around.indexOf(here);
  const next =
    key === "ArrowLeft"
      ? around[at - 1]
      : key === "ArrowRight"
        ? around[at + 1]
        : key === "ArrowUp"
          ? inRow(here.row - 1).find((box) => box.x <= middle && middle <= box.x + box.width)
          : key === "ArrowDown"
            ? inRow(here.row + 1).find((box) => box.x + box.width > here.x && box.x < here.x + here.width)
            : undefined;
  return (next ?? here).index;
}
