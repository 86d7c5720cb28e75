/** The same quantities over the whole capture and over the active window, one column each. Pure. */

import { columnIndex, numberAt, tableOf } from "../../api/read";
import type { Column, Report, Table, Value } from "../../api/types";
import type { Cell } from "../../base/format";

export interface SideLine {
  readonly column: Column;
  readonly cells: readonly Cell[];
}

export interface SideBySide {
  readonly heads: readonly string[];
  readonly lines: readonly SideLine[];
}

/** Turns the table `rates` on its side: it has few rows and they are what is compared. */
export function sideBySide(report: Report): SideBySide | null {
  const rates = tableOf(report, "rates");
  if (rates === null || rates.rows.length === 0) return null;
  const heads = rates.rows.map((row) => String(row[0] ?? ""));
  const lines = rates.columns.slice(1).map((column, i) => ({ column, cells: rates.rows.map((row) => row[i + 1] ?? null) }));
  const idle = idleLine(report.values, rates);
  return { heads, lines: idle === null ? lines : [...lines.slice(0, 1), idle, ...lines.slice(1)] };
}

/** Idle shares are values of the report; they belong into the same comparison. */
function idleLine(values: Report["values"], rates: Table): SideLine | null {
  const capture: Value | undefined = values["idle_share_of_capture"];
  const active: Value | undefined = values["idle_share_of_active_window"];
  if (capture === undefined || active === undefined) return null;
  const column: Column = { id: "idle_share", label: "Idle", unit: "1", kind: "share", doc: "Share in which no op ran" };
  const time = columnIndex(rates, "time_ps");
  const off = (row: readonly Cell[], whole: Value | undefined): number => {
    const [length, of] = [numberAt(row, time), whole?.value];
    return length === null || typeof of !== "number" ? Infinity : Math.abs(length - of);
  };
  // A row says over which time it is by that time.
  const isCapture = (row: readonly Cell[]): boolean => off(row, values["capture_span_ps"]) <= off(row, values["active_window_ps"]);
  return { column, cells: rates.rows.map((row) => (isCapture(row) ? capture.value : active.value)) };
}
