/** How an op is named in the address: by its name and its module, because modules share names. Pure. */

import { columnIndex, textAt } from "../../api/read";
import type { Table } from "../../api/types";
import type { Cell } from "../../base/format";

const BETWEEN = " @ ";

export function rowKey(table: Table, row: readonly Cell[] | undefined): string {
  const name = textAt(row, Math.max(0, columnIndex(table, "op", "name"))) ?? "";
  const module = textAt(row, columnIndex(table, "module")) ?? "";
  return module === "" || module === name ? name : `${name}${BETWEEN}${module}`;
}

/** The first row with this key, or with this name alone; -1 where there is none. */
export function rowOf(table: Table, key: string): number {
  if (key === "") return -1;
  const exact = table.rows.findIndex((row) => rowKey(table, row) === key);
  if (exact >= 0) return exact;
  const name = key.split(BETWEEN)[0];
  const column = Math.max(0, columnIndex(table, "op", "name"));
  return table.rows.findIndex((row) => textAt(row, column) === name);
}

/** Two rows have one name: the module then tells them apart. */
export function hasNamesakes(table: Table): boolean {
  const column = Math.max(0, columnIndex(table, "op", "name"));
  return new Set(table.rows.map((row) => row[column])).size < table.rows.length;
}
