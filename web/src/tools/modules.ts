/** Programs to choose from. Pure. */

import { columnIndex, numberAt, textAt } from "../api/read";
import type { Report, Table } from "../api/types";
import { formatBytes } from "../base/format";

export interface ModuleChoice {
  /** What the server takes as `module`. */
  readonly word: string;
  readonly label: string;
}

/** The programs that a table lists, each once, in its order: by their label, or by name, id and stage. */
export function moduleChoices(table: Table | null): ModuleChoice[] {
  if (table === null) return [];
  const column = (id: string): number => columnIndex(table, id);
  const [label, name, id, stage, peak] = ["program", "module", "program_id", "stage", "peak_bytes"].map(column) as [
    number,
    number,
    number,
    number,
    number,
  ];
  const seen = new Set<string>();
  return table.rows.flatMap((row) => {
    const text = (index: number): string => textAt(row, index) ?? "";
    const own = text(name) + (text(id) === "" ? "" : `(${text(id)})`) + (text(stage) === "" ? "" : `@${text(stage)}`);
    const word = label >= 0 ? text(label) : own;
    if (word === "" || seen.has(word)) return [];
    seen.add(word);
    const bytes = numberAt(row, peak);
    return [{ word, label: bytes === null ? word : `${word}, ${formatBytes(bytes, 3)}` }];
  });
}

/** The table of modules that a report holds. */
export function modulesOf(report: Report | null, ...ids: string[]): Table | null {
  return report?.tables.find((table) => ids.includes(table.id)) ?? null;
}
