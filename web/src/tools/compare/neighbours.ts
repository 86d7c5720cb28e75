/** Which runs are likely to be compared with one: those of the same program first, then its neighbours in the list. Pure. */

import { columnIndex, numberAt, tableOf, textAt } from "../../api/read";
import type { Report, RunInfo } from "../../api/types";

/** The program that takes most time in a run. */
export interface Program {
  readonly module: string;
  /** Of its instructions; empty where it is not known. */
  readonly fingerprint: string;
}

/** Of the report on a run's modules; null where it has none. */
export function mainProgram(report: Report): Program | null {
  const table = tableOf(report, "modules");
  if (table === null) return null;
  const [module, fingerprint, time] = ["module", "fingerprint", "time_ps"].map((id) => columnIndex(table, id)) as [number, number, number];
  const most = [...table.rows].sort((a, b) => (numberAt(b, time) ?? 0) - (numberAt(a, time) ?? 0))[0];
  const name = textAt(most, module);
  return name === null ? null : { module: name, fingerprint: textAt(most, fingerprint) ?? "" };
}

/** How two runs' programs stand to each other; empty where one of them is not known. */
export type Likeness = "same program" | "same name, compiled again" | "another program" | "cannot be read" | "";

/** What is known of a run's program: itself, null where the run has none, `unreadable` where the run cannot be read. */
export type Known = Program | null | "unreadable";

export function likeness(a: Known | undefined, b: Known | undefined): Likeness {
  if (b === "unreadable") return "cannot be read";
  if (a === "unreadable") return "";
  if (a === null || a === undefined || b === null || b === undefined) return "";
  if (a.fingerprint !== "" && a.fingerprint === b.fingerprint) return "same program";
  return a.module === b.module ? "same name, compiled again" : "another program";
}

const ORDER: readonly Likeness[] = ["same program", "same name, compiled again", "", "another program", "cannot be read"];

/** The folder that a run lies in. */
function folderOf(run: RunInfo): string {
  return run.name.split("/").slice(0, -1).join("/");
}

/** All other runs: those of the run's folder first, then by how far apart in time they are. */
export function neighbours(runs: readonly RunInfo[], id: string): RunInfo[] {
  const own = runs.find((run) => run.id === id);
  const others = runs.filter((run) => run.id !== id);
  if (own === undefined) return others;
  const far = (run: RunInfo): number => Math.abs(run.modified_ms - own.modified_ms);
  const beside = (run: RunInfo): number => (folderOf(run) === folderOf(own) ? 0 : 1);
  return others.sort((a, b) => beside(a) - beside(b) || far(a) - far(b));
}

/** The same with the runs of the same program first, and those that cannot be read last. */
export function byLikeness(runs: readonly RunInfo[], of: (run: RunInfo) => Likeness): RunInfo[] {
  return [...runs].sort((a, b) => ORDER.indexOf(of(a)) - ORDER.indexOf(of(b)));
}
