/** Words of the graph's page. */

import { columnIndex, textAt } from "../../api/read";
import type { Table } from "../../api/types";
import { formatBytes, formatDuration, formatQuantity, UNKNOWN } from "../../base/format";
import { view } from "../../state/route";
import type { ColourBy } from "./graph";

export function colourBy(): ColourBy {
  const by = view.value["colour"];
  return by === "flops" || by === "bytes" ? by : "time";
}

/** What a colour stands for. */
export function amount(value: number | null, by: ColourBy): string {
  if (value === null) return UNKNOWN;
  return by === "time" ? formatDuration(value) : by === "flops" ? formatQuantity(value, "FLOP") : formatBytes(value);
}

/** The name in a row of a table of instructions. */
export function instructionAt(table: Table, row: number): string {
  return textAt(table.rows[row], columnIndex(table, "instruction", "name", "node")) ?? "";
}

/** The module in a row of such a table, or empty. */
export function moduleAt(table: Table, row: number): string {
  return textAt(table.rows[row], columnIndex(table, "module")) ?? "";
}
