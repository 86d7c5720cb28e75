/** What the page makes of a ledger's report: metrics as charts, entries as runs of this server. Pure. */

import { columnIndex, numberAt, tableOf, textAt } from "../../api/read";
import type { Report, RunInfo, Table } from "../../api/types";
import type { Cell } from "../../base/format";

export interface HistoryPoint {
  readonly entry: number;
  readonly value: number;
  /** outlier: it stands alone. reverted: the change was taken back. */
  readonly kind: "" | "outlier" | "reverted";
}

export interface HistoryChange {
  readonly entry: number;
  readonly before: number;
  readonly after: number;
  /** better, worse or different. */
  readonly verdict: string;
}

export interface Level {
  readonly from: number;
  readonly to: number;
  readonly value: number;
}

export interface History {
  readonly id: string;
  readonly label: string;
  /** As the column `unit` of a table names it: ps, B, share. */
  readonly unit: string;
  readonly points: readonly HistoryPoint[];
  readonly changes: readonly HistoryChange[];
  readonly levels: readonly Level[];
  readonly trend: string;
}

/** One for each metric, in the report's order. */
export function historiesOf(report: Report): History[] {
  const metrics = tableOf(report, "metrics");
  const changes = tableOf(report, "change_points");
  const reverted = entriesWhere(tableOf(report, "entries"), "decision", "revert");
  return report.series.map((series) => {
    const row = rowWhere(metrics, "metric", series.id);
    const cell = (id: string): number => (metrics === null ? -1 : columnIndex(metrics, id));
    const outliers = new Set((textAt(row, cell("outliers")) ?? "").split(" ").filter(Boolean).map(Number));
    const points = (series.points ?? []).flatMap(([entry, value]): HistoryPoint[] =>
      value === null ? [] : [{ entry, value, kind: outliers.has(entry) ? "outlier" : reverted.has(entry) ? "reverted" : "" }],
    );
    const own = changesOf(changes, series.id);
    return {
      id: series.id,
      label: series.title,
      unit: textAt(row, cell("unit")) ?? "",
      points,
      changes: own,
      levels: levelsOf(points, own, numberAt(row, cell("level")), textAt(row, cell("trend")) ?? ""),
      trend: textAt(row, cell("trend")) ?? "",
    };
  });
}

function changesOf(table: Table | null, metric: string): HistoryChange[] {
  if (table === null) return [];
  const [name, entry, before, after, verdict] = ["metric", "entry", "before", "after", "verdict"].map((id) => columnIndex(table, id));
  return table.rows
    .flatMap((row): HistoryChange[] => {
      const [at, was, is] = [numberAt(row, entry ?? -1), numberAt(row, before ?? -1), numberAt(row, after ?? -1)];
      if (textAt(row, name ?? -1) !== metric || at === null || was === null || is === null) return [];
      return [{ entry: at, before: was, after: is, verdict: textAt(row, verdict ?? -1) ?? "" }];
    })
    .sort((a, b) => a.entry - b.entry);
}

/** Where the series stays at one value: between changes. A series that drifts has no level. */
function levelsOf(points: readonly HistoryPoint[], changes: readonly HistoryChange[], last: number | null, trend: string): Level[] {
  const [first, end] = [points[0]?.entry, points[points.length - 1]?.entry];
  if (first === undefined || end === undefined || (changes.length === 0 && trend !== "level")) return [];
  const starts = [first, ...changes.map((change) => change.entry)];
  return starts.flatMap((from, i): Level[] => {
    const next = changes[i];
    const value = next?.before ?? changes[i - 1]?.after ?? last;
    return value === null || value === undefined ? [] : [{ from, to: next === undefined ? end : next.entry - 1, value }];
  });
}

function rowWhere(table: Table | null, column: string, text: string): readonly Cell[] | undefined {
  if (table === null) return undefined;
  const index = columnIndex(table, column);
  return table.rows.find((row) => textAt(row, index) === text);
}

function entriesWhere(table: Table | null, column: string, text: string): ReadonlySet<number> {
  if (table === null) return new Set();
  const [index, entry] = [columnIndex(table, column), columnIndex(table, "entry")];
  return new Set(table.rows.filter((row) => textAt(row, index) === text).map((row) => numberAt(row, entry) ?? 0));
}

/** The run of this server that an entry is about; null where it has none, or two that may be meant.
 *
 * An entry calls a session `logfolder/session`; the server knows it by the session's name, or by its path. */
export function runOf(runs: readonly RunInfo[], run: string, session: string): RunInfo | null {
  const named = runs.filter((one) => one.name === run || one.id === run);
  if (named.length === 1) return named[0] ?? null;
  const bare = session.replace(/\.gz$/, "").replace(/(\.xplane)?\.pb$/, "");
  const same = runs.filter((one) => [one.id, one.name].some((name) => name === session || name === bare));
  if (same.length < 2) return same[0] ?? null;
  const folder = run.includes("/") ? run.slice(0, run.lastIndexOf("/")) : "";
  const inside = same.filter((one) => folder !== "" && `/${one.path}`.includes(`/${folder}/`));
  return inside.length === 1 ? (inside[0] ?? null) : null;
}
