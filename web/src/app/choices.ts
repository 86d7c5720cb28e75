/** What there is to choose a scope from, from the run's own lists. Pure. */

import { columnIndex, numberAt, tableOf, textAt } from "../api/read";
import type { Report } from "../api/types";
import { formatDuration } from "../base/format";
import type { PickItem } from "../widgets/Picker";

/** Distinct texts of a column, in their order, with a note from the first row of each. */
function distinct(report: Report | null, table: string, column: string, note: (row: (id: string) => number | null) => string): PickItem[] {
  const found = tableOf(report, table);
  if (found === null) return [];
  const index = columnIndex(found, column);
  const seen = new Map<string, PickItem>();
  for (const row of found.rows) {
    const value = textAt(row, index) ?? "";
    if (value === "" || seen.has(value)) continue;
    const said = note((id) => numberAt(row, columnIndex(found, id)));
    seen.set(value, said === "" ? { value } : { value, note: said });
  }
  return [...seen.values()];
}

export function hostItems(inspect: Report | null, known: readonly string[]): PickItem[] {
  return (inspect?.provenance.hosts ?? known).map((value) => ({ value }));
}

export function deviceItems(inspect: Report | null): PickItem[] {
  return (inspect?.scope.devices ?? []).map((value) => ({ value }));
}

export function moduleItems(inspect: Report | null): PickItem[] {
  // The scope's list is separated by commas.
  return distinct(inspect, "modules", "module", () => "").filter((item) => !item.value.includes(","));
}

export function stepItems(steps: Report | null): PickItem[] {
  const table = tableOf(steps, "steps");
  const kind = table === null ? -1 : columnIndex(table, "class");
  return distinct(steps, "steps", "step", (cell) => {
    const ps = cell("duration_ps");
    return ps === null ? "" : formatDuration(ps, 3);
  }).map((item, i) => {
    const said = textAt(table?.rows[i], kind);
    return said === null ? item : { ...item, note: [said, item.note].filter(Boolean).join(", ") };
  });
}
