/** The row that a finding rests on, by its table and its first cell: in the address, so that a link shows it too. */

import { view } from "./route";

/** The first cell of the marked row of this table; empty where none is. */
export function markIn(table: string): string {
  const mark = view.value["mark"] ?? "";
  return mark.startsWith(`${table}:`) ? mark.slice(table.length + 1) : "";
}

/** Whether a finding rests on this table as a whole: it is then brought into view. */
export function isMarkedWhole(table: string): boolean {
  return view.value["mark"] === `${table}:`;
}
