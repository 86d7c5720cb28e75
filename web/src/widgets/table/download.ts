import type { Table } from "../../api/types";
import { toCsv } from "../../base/csv";
import { toJson } from "../../base/json";
import { download } from "../download";

/** Column ids carry the units (`self_ps`), numbers are not rounded. */
export function tableText(table: Table, form: "csv" | "json"): string {
  const header = table.columns.map((column) => column.id);
  return form === "csv" ? toCsv(header, table.rows) : toJson(header, table.rows);
}

export function downloadTable(table: Table, name: string, form: "csv" | "json"): void {
  const type = form === "csv" ? "text/csv;charset=utf-8" : "application/json";
  download(new Blob([tableText(table, form)], { type }), `${name}.${form}`);
}

/** For pages that offer CSV alone. */
export function downloadCsv(table: Table, name: string): void {
  downloadTable(table, name, "csv");
}
