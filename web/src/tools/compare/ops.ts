/** Ops by how they changed, which of them make up a part of the waterfall, and where each is in either run. Pure. */

import { columnIndex, numberAt, textAt } from "../../api/read";
import type { Table } from "../../api/types";
import type { Cell } from "../../base/format";
import type { RouteChange } from "../../state/url";
import type { ToneName } from "../../widgets/tone";

/** In the order in which a reader asks for them. */
export const CHANGES = ["slower", "faster", "new", "gone", "regrouped", "undecided", "unchanged"] as const;

const TONES: Readonly<Record<string, ToneName>> = {
  slower: "bad",
  faster: "good",
  new: "warn",
  gone: "warn",
  regrouped: "warn",
  undecided: "unknown",
  unchanged: "plain",
};

export function toneOfChange(word: string): ToneName {
  return TONES[word] ?? "plain";
}

/** How many rows each kind of change has; kinds that the page does not know come last. */
export function changeCounts(table: Table): { readonly change: string; readonly count: number }[] {
  const at = columnIndex(table, "change");
  const counts = new Map<string, number>();
  for (const row of table.rows) {
    const change = textAt(row, at);
    if (change !== null) counts.set(change, (counts.get(change) ?? 0) + 1);
  }
  const known = CHANGES.filter((change) => counts.has(change)) as readonly string[];
  const others = [...counts.keys()].filter((change) => !known.includes(change)).sort();
  return [...known, ...others].map((change) => ({ change, count: counts.get(change) ?? 0 }));
}

/** The rows with one kind of change; all of them for no kind. */
export function withChange(table: Table, change: string): Table {
  if (change === "") return table;
  const at = columnIndex(table, "change");
  return { ...table, rows: table.rows.filter((row) => textAt(row, at) === change) };
}

/** What every op has that ran: unknown where it is not recorded. */
const OF_ANY_OP = new Set(["module", "category", "framework_op", "source"]);

/** A new op took no time before, and one that is gone takes none now: such cells are empty, and not unknown. */
export function absentIn(table: Table): (row: readonly Cell[], index: number) => string | null {
  const change = columnIndex(table, "change");
  return (row, index) => {
    const one = textAt(row, change);
    const id = table.columns[index]?.id ?? "";
    return (one === "new" || one === "gone") && !OF_ANY_OP.has(id) ? "none" : null;
  };
}

/** The op's name: in the experiment, else in the baseline. */
export function nameOf(table: Table, row: readonly Cell[] | undefined): string {
  return textAt(row, columnIndex(table, "op")) || textAt(row, columnIndex(table, "was")) || "";
}

/** Names an op in the address: modules share names. */
export function keyOf(table: Table, row: readonly Cell[] | undefined): string {
  const module = textAt(row, columnIndex(table, "module")) ?? "";
  return module === "" ? nameOf(table, row) : `${nameOf(table, row)} @ ${module}`;
}

/** The column of the ops that a kind of the waterfall sums. */
const OF_KIND: Readonly<Record<string, string>> = { count: "count_ps", work: "work_ps", efficiency: "efficiency_ps" };

export interface Part {
  readonly key: string;
  readonly name: string;
  readonly ps: number;
}

/** The ops that make up a kind of the waterfall, largest first; null for kinds that are no ops'. */
export function partsOf(kind: string, table: Table | null): Part[] | null {
  if (table === null) return null;
  const change = columnIndex(table, "change");
  const whole = kind === "new" || kind === "gone";
  const column = whole ? columnIndex(table, "delta_ps") : columnIndex(table, OF_KIND[kind] ?? "");
  if (column < 0) return null;
  return table.rows
    .flatMap((row): Part[] => {
      const ps = numberAt(row, column);
      if (ps === null || ps === 0 || (whole && textAt(row, change) !== kind)) return [];
      return [{ key: keyOf(table, row), name: nameOf(table, row), ps }];
    })
    .sort((a, b) => Math.abs(b.ps) - Math.abs(a.ps));
}

export interface Way {
  readonly label: string;
  readonly to: RouteChange;
}

/** Where an op is in the baseline and in the experiment; nothing in a run that lacks it. */
export function waysOf(table: Table, row: readonly Cell[] | undefined, baseline: string, experiment: string): Way[] {
  const text = (id: string): string => textAt(row, columnIndex(table, id)) ?? "";
  const change = text("change");
  const module = text("module");
  const is = change === "gone" ? "" : text("op");
  const was = change === "new" ? "" : text("was") || text("op");
  const ways = (name: string, run: string, which: string): Way[] =>
    // Of a regrouped op the cell holds several names.
    single(name) === ""
      ? []
      : [
          { label: `${which}: in the table of ops`, to: { run, page: "ops", view: { sel: module === "" ? name : `${name} @ ${module}` } } },
          { label: `${which}: on the timeline`, to: { run, page: "timeline", view: { q: name } } },
          ...(module === "" ? [] : [{ label: `${which}: in the graph`, to: { run, page: "hlo", view: { module, node: name } } }]),
        ];
  return [...ways(was, baseline, "Baseline"), ...ways(is, experiment, "Experiment")];
}

function single(name: string): string {
  return /[,;+\s]/.test(name) ? "" : name;
}
