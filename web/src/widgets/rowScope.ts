/** What a row of any table names that can become the scope, or a place on the timeline. Pure. */

import { columnIndex, numberAt, textAt } from "../api/read";
import type { Table } from "../api/types";
import type { RouteChange } from "../state/url";
import { formatWindow } from "../state/url";

export interface RowAction {
  readonly label: string;
  readonly to: RouteChange;
}

/** A table of modules or programs names them in its first column. */
const MODULE_TABLES = new Set(["modules", "programs"]);
/** Seen on both sides of what is shown on the timeline, as a share of its length. */
const AROUND = 0.05;

export function rowActions(table: Table, row: number): RowAction[] {
  const cells = table.rows[row];
  const text = (...ids: string[]): string => textAt(cells, columnIndex(table, ...ids)) ?? "";
  const actions: RowAction[] = [];
  const step = text("step", "step_number");
  if (/^\d+$/.test(step)) actions.push({ label: "Only this step", to: { scope: { steps: step } } });
  const device = text("device") || text("slowest_device");
  if (device !== "" && !device.includes(",")) {
    const slowest = columnIndex(table, "device") < 0;
    actions.push({ label: slowest ? "Only its slowest device" : "Only this device", to: { scope: { devices: device } } });
  }
  const host = text("host");
  if (host !== "" && !host.includes(",")) actions.push({ label: "Only this host", to: { scope: { hosts: host } } });
  const module = (MODULE_TABLES.has(table.id) ? text("module", "program", "name") : text("module")).replace(/\(\d+\)$|@.*$/g, "");
  if (module !== "" && !module.includes(",")) actions.push({ label: "Only this program", to: { scope: { modules: module } } });
  const start = numberAt(cells, columnIndex(table, "start_ps", "first_ps"));
  const end = numberAt(cells, columnIndex(table, "end_ps"));
  const length =
    numberAt(cells, columnIndex(table, "duration_ps", "dur_ps", "step_time_ps", "length_ps", "span_ps", "time_ps")) ??
    (end !== null && start !== null ? end - start : null);
  if (start !== null && length !== null && length > 0) {
    const view = formatWindow(start - length * AROUND, start + length * (1 + AROUND));
    actions.push({ label: "Show on the timeline", to: { page: "timeline", view: { view } } });
    if (step === "") actions.push({ label: "Only this time", to: { scope: { window: formatWindow(start, start + length) } } });
  }
  return actions;
}
