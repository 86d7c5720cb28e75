/** How several tables share a page. Pure. */

import type { Table } from "../../api/types";
import { columnWidth } from "./layout";

/** Characters that half of a desk's page has room for. */
const HALF_PAGE = 76;
/** A table taller than this scrolls inside. */
const MOST_ROWS = 14;

export interface Wide {
  readonly kind: "wide";
  readonly table: Table;
}

/** Two columns of narrow tables, of about the same height. */
export interface Pair {
  readonly kind: "pair";
  readonly stacks: readonly (readonly Table[])[];
}

function isNarrow(table: Table): boolean {
  return table.columns.reduce((sum, _, i) => sum + columnWidth(table.columns, i, table.rows), 0) <= HALF_PAGE;
}

function pair(tables: readonly Table[]): Pair {
  const stacks: [Table[], Table[]] = [[], []];
  const heights: [number, number] = [0, 0];
  for (const table of tables) {
    const side = heights[1] < heights[0] ? 1 : 0;
    stacks[side].push(table);
    heights[side] += Math.min(MOST_ROWS, table.rows.length) + 3;
  }
  return { kind: "pair", stacks: stacks.filter((stack) => stack.length > 0) };
}

/** Keeps the order of the report, which has the most important first: neighbours that are narrow stand side by side. */
export function arrange(tables: readonly Table[]): (Wide | Pair)[] {
  const parts: (Wide | Pair)[] = [];
  let narrow: Table[] = [];
  const flush = (): void => {
    if (narrow.length > 0) parts.push(pair(narrow));
    narrow = [];
  };
  for (const table of tables.filter((one) => one.rows.length > 0)) {
    if (isNarrow(table)) {
      narrow.push(table);
    } else {
      flush();
      parts.push({ kind: "wide", table });
    }
  }
  flush();
  return parts;
}
