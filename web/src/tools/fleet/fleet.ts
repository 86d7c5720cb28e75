/** The fleet's table in words and in the address. Pure. */

import type { Report, RunInfo } from "../../api/types";
import { formatInt } from "../../base/format";

/** The id of the run that a row names; null where the server lists none of that name, or several. */
export function idOf(runs: readonly RunInfo[], name: string): string | null {
  const named = runs.filter((run) => run.name === name && run.dropped !== true);
  return named.length === 1 ? (named[0]?.id ?? null) : null;
}

/** How many runs are shown, and how many could not be read. */
export function noteOf(report: Report, shown: number): string {
  const all = report.tables[0]?.rows.length ?? 0;
  const unread = report.values["unread"]?.value;
  const failed = typeof unread === "number" && unread > 0 ? `${formatInt(unread)} not read` : "";
  const count = shown === all ? `${formatInt(all)}, newest first` : `${formatInt(shown)} of ${formatInt(all)}`;
  return [count, failed].filter(Boolean).join(", ");
}
