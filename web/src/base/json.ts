/** A table as JSON: an object a row, by column id; unknown is null. Pure. */

import type { Cell } from "./format";

export function toJson(header: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const objects = rows.map((row) => JSON.stringify(Object.fromEntries(header.map((id, i) => [id, row[i] ?? null]))));
  return objects.length === 0 ? "[]\n" : `[\n${objects.join(",\n")}\n]\n`;
}
