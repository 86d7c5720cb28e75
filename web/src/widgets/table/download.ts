import type { Table } from "../../api/types";
import { toCsv } from "../../base/csv";

/** Hands the table to the browser as a file. Column ids carry the units (`self_ps`), numbers are not rounded. */
export function downloadCsv(table: Table, name: string): void {
  const header = table.columns.map((column) => column.id);
  const blob = new Blob([toCsv(header, table.rows)], { type: "text/csv;charset=utf-8" });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = `${name.replace(/[^\w.-]+/g, "_")}.csv`;
  link.click();
  // The click starts the download; the address may go once the browser has taken it.
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
