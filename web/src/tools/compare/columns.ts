/** Tables with their columns in another order. Pure. */

import type { Table } from "../../api/types";

/** The named columns first, in this order, then the others; without those of `leave`. */
export function arranged(table: Table, first: readonly string[], leave: readonly string[] = []): Table {
  const at = (id: string): number => table.columns.findIndex((column) => column.id === id);
  const named = first.map(at).filter((index) => index >= 0);
  const left = new Set(leave.map(at));
  const order = [...named, ...table.columns.map((_, i) => i).filter((i) => !named.includes(i) && !left.has(i))];
  return {
    ...table,
    columns: order.flatMap((i) => table.columns[i] ?? []),
    rows: table.rows.map((row) => order.map((i) => row[i] ?? null)),
  };
}

/** Without this column where it says nothing in any row: of runs that are not comparable no metric is better or worse. */
export function withoutUnknown(table: Table | null, id: string): Table | null {
  const at = table?.columns.findIndex((column) => column.id === id) ?? -1;
  return table === null || at < 0 || table.rows.some((row) => (row[at] ?? null) !== null) ? table : arranged(table, [], [id]);
}

/** Which part of the page shows a table; a part of its own for those that nobody thought of. */
const PARTS: Readonly<Record<string, string>> = {
  ops: "ops",
  regrouped: "ops",
  renamed: "ops",
  names: "names",
  classes: "names",
  memory: "memory",
  buffers: "memory",
  copies: "program",
  programs: "program",
  facts: "facts",
  runs: "facts",
};

/** Tables that stand above the parts. */
const ABOVE = new Set(["metrics", "waterfall", "steps"]);

export function partOf(table: string): string {
  return PARTS[table] ?? "facts";
}

/** The tables that a part shows whole, in the report's order. */
export function tablesOf(tables: readonly Table[], part: string): Table[] {
  return tables.filter((table) => !ABOVE.has(table.id) && partOf(table.id) === part && table.rows.length > 0);
}

/** The part to show: where the row is that a finding points at, else what the address says, else the first. */
export function partShown(asked: string | undefined, mark: string | undefined, parts: readonly string[]): string {
  const table = (mark ?? "").split(":")[0] ?? "";
  const marked = table === "" || ABOVE.has(table) ? "" : partOf(table);
  if (parts.includes(marked)) return marked;
  return asked !== undefined && parts.includes(asked) ? asked : (parts[0] ?? "");
}
