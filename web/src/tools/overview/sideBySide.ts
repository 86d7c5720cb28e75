/** The same quantities over the whole capture and over the active window, one column each. Pure. */

import { tableOf } from "../../api/read";
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
  return { column, cells: rates.rows.map((row) => (/capture/i.test(String(row[0])) ? capture.value : active.value)) };
}
