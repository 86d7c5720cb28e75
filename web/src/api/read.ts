/** Reading reports without relying on what may be absent. Pure. */

import type { Cell } from "../base/format";
import { UNKNOWN, formatCell, formatChange, formatMixed } from "../base/format";
import type { Column, Report, Table, Value } from "./types";

export function tableOf(report: Report | null, id: string): Table | null {
  return report?.tables.find((table) => table.id === id) ?? null;
}

/** Index of the first of these columns that the table has, or -1. */
export function columnIndex(table: Table, ...ids: string[]): number {
  for (const id of ids) {
    const index = table.columns.findIndex((column) => column.id === id);
    if (index >= 0) return index;
  }
  return -1;
}

export function numberAt(row: readonly Cell[] | undefined, index: number): number | null {
  const cell = index < 0 ? null : row?.[index];
  return typeof cell === "number" && Number.isFinite(cell) ? cell : null;
}

export function textAt(row: readonly Cell[] | undefined, index: number): string | null {
  const cell = index < 0 ? null : row?.[index];
  return cell === null || cell === undefined ? null : String(cell);
}

export function valueNumber(report: Report | null, ...ids: string[]): number | null {
  for (const id of ids) {
    const value = report?.values[id]?.value;
    if (typeof value === "number" && Number.isFinite(value)) return value;
  }
  return null;
}

export function isNumeric(column: Column): boolean {
  return column.kind !== "text" && column.kind !== "flag";
}

/** Whether the cells of a column are of different units, which the column `unit` of the table names. */
export function isMixed(column: Column): boolean {
  return column.kind === "quantity" || column.kind === "change";
}

/** The column with the units of a table's quantities, which say their units themselves; -1 where it has none. */
export function unitColumn(columns: readonly Column[]): number {
  return columns.some(isMixed) ? columns.findIndex((column) => column.id === "unit") : -1;
}

/** A cell of a table, by its column's kind, and by its row's unit where the column has several. */
export function cellText(columns: readonly Column[], row: readonly Cell[] | undefined, index: number): string {
  const [column, cell] = [columns[index], row?.[index] ?? null];
  if (column === undefined) return UNKNOWN;
  if (!isMixed(column)) return formatCell(cell, column.kind, column.unit);
  const word = textAt(row, unitColumn(columns)) ?? "";
  return column.kind === "change" ? formatChange(cell, word) : formatMixed(cell, word);
}

/** Nothing is known: no number, or a class that is named so. */
export function isUnknown(value: Value): boolean {
  return value.value === null || value.status === "unknown" || value.value === UNKNOWN;
}

export function valueText(value: Value): string {
  return isUnknown(value) ? UNKNOWN : formatCell(value.value, value.kind, value.unit);
}

/** `step_time_mean_ps` when the server sends no label: `Step time mean`. */
export function labelOf(id: string, value: Value): string {
  if (value.label !== undefined && value.label !== "") return value.label;
  const words = id
    .replace(/_(ps|bytes)$/, "")
    .replaceAll("_", " ")
    .replace(/\b(flops?|hbm|hlo|tpu|gpu|cpu|mxu|ici)\b/g, (word) => (word === "flops" ? "FLOPs" : word.toUpperCase()));
  return words.charAt(0).toUpperCase() + words.slice(1);
}
