/** The buffers at the peak, summed by what a person asks for. Pure. */

import { columnIndex, numberAt, textAt } from "../../api/read";
import type { Table } from "../../api/types";
import type { Part } from "../../widgets/chart/treemap";

/** What tiles may stand for: what it is called, and the columns that say it. */
export const BY: readonly { readonly id: string; readonly label: string; readonly columns: readonly string[] }[] = [
  { id: "bucket", label: "bucket", columns: ["bucket"] },
  { id: "group", label: "group", columns: ["group"] },
  { id: "scope", label: "scope", columns: ["scope"] },
  { id: "layer", label: "layer", columns: ["layer"] },
  { id: "opcode", label: "opcode", columns: ["opcode"] },
  { id: "source", label: "source line", columns: ["source", "source_line"] },
];

export const NAMELESS = "(none)";

/** The column of a table for a way to sum; -1 where it has none. */
export function byColumn(table: Table, by: string): number {
  return columnIndex(table, ...(BY.find((one) => one.id === by)?.columns ?? []));
}

export function bytesColumn(table: Table): number {
  return columnIndex(table, "bytes");
}

/** Bytes by what a column says, largest first. */
export function partsBy(table: Table, column: number): Part[] {
  const bytes = bytesColumn(table);
  const sums = new Map<string, number>();
  for (const row of table.rows) {
    const name = textAt(row, column) ?? "";
    sums.set(name === "" ? NAMELESS : name, (sums.get(name === "" ? NAMELESS : name) ?? 0) + (numberAt(row, bytes) ?? 0));
  }
  return [...sums].map(([name, value]) => ({ name, value })).sort((a, b) => b.value - a.value);
}

/** The table with only the rows of one part. */
export function rowsOf(table: Table, column: number, part: string): Table {
  return { ...table, rows: table.rows.filter((row) => ((textAt(row, column) ?? "") || NAMELESS) === part) };
}

/** The instruction in a buffer's name: `fusion.3{0}` is the first element of what `fusion.3` makes. */
export function instructionOf(buffer: string): string {
  return buffer.replace(/\s*\{[\d,{}\s]*\}$/, "").replace(/^%/, "");
}

/** The rows that name a part somewhere in a column: what remains where no column says it alone. */
export function rowsHolding(table: Table, column: number, part: string): Table {
  return { ...table, rows: table.rows.filter((row) => (textAt(row, column) ?? "").includes(part)) };
}

/** Sums that the report has made, as parts. */
export function partsOf(sums: Table): Part[] {
  const name = columnIndex(sums, "name");
  const bytes = bytesColumn(sums);
  return sums.rows.map((row) => ({ name: (textAt(row, name) ?? "") || NAMELESS, value: numberAt(row, bytes) ?? 0 }));
}

/** The first row with a buffer of an instruction; -1 where there is none. */
export function bufferRow(table: Table, name: string): number {
  if (name === "") return -1;
  const column = columnIndex(table, "instruction", "name", "buffer");
  const exact = table.rows.findIndex((row) => textAt(row, column) === name);
  return exact >= 0 ? exact : table.rows.findIndex((row) => instructionOf(textAt(row, column) ?? "") === instructionOf(name));
}
