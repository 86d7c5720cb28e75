/** Sorting and filtering of table rows by index, so that the rows themselves are never copied. */

import type { Cell } from "./format";

export interface SortKey {
  readonly column: string;
  readonly descending: boolean;
}

export function parseSort(text: string | undefined): SortKey | null {
  if (text === undefined || text === "" || text === "-") return null;
  return text.startsWith("-") ? { column: text.slice(1), descending: true } : { column: text, descending: false };
}

export function formatSort(key: SortKey): string {
  return (key.descending ? "-" : "") + key.column;
}

/** What a click on a column's head asks for: numbers largest first, text from A; then the other way; then the server's order. */
export function nextSort(column: string, isNumber: boolean, now: SortKey | null): SortKey | null {
  if (now?.column !== column) return { column, descending: isNumber };
  return now.descending === isNumber ? { column, descending: !isNumber } : null;
}

/** Unknown sorts last in both directions: it is neither large nor small. */
export function compareCells(a: Cell, b: Cell, descending: boolean): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
  const order = typeof a === "string" || typeof b === "string" ? compareText(String(a), String(b)) : Number(a) - Number(b);
  return descending ? -order : order;
}

/** Digits inside names compare as numbers: fusion.9 before fusion.10. */
const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

function compareText(a: string, b: string): number {
  return collator.compare(a, b);
}

export function sortedIndex(rows: readonly (readonly Cell[])[], indices: readonly number[], column: number, descending: boolean): number[] {
  return [...indices].sort((i, j) => {
    const order = compareCells(rows[i]?.[column] ?? null, rows[j]?.[column] ?? null, descending);
    return order !== 0 ? order : i - j;
  });
}

/** Rows where every word of the filter occurs in some text cell; `-word` excludes. */
export function filteredIndex(rows: readonly (readonly Cell[])[], textColumns: readonly number[], filter: string): number[] {
  const words = filter
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "" && word !== "-");
  const all = rows.map((_, i) => i);
  if (words.length === 0) return all;
  return all.filter((i) => {
    const text = textColumns
      .map((c) => String(rows[i]?.[c] ?? ""))
      .join("\n")
      .toLowerCase();
    return words.every((word) => (word.startsWith("-") ? !text.includes(word.slice(1)) : text.includes(word)));
  });
}
