/** RFC 4180 text. Numbers keep full precision and base units; unknown is an empty field. */

import type { Cell } from "./format";

function field(value: Cell): string {
  if (value === null) return "";
  const text = String(value);
  // A leading = + - @ in text would run as a formula in a spreadsheet.
  const safe = typeof value === "string" && /^[=+\-@\t]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export function toCsv(header: readonly string[], rows: readonly (readonly Cell[])[]): string {
  return [header, ...rows].map((row) => row.map(field).join(",")).join("\r\n") + "\r\n";
}
