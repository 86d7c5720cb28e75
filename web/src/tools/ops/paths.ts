/** The ways to put ops together in the chart: by where they were compiled, by the program's own names, by the source. Pure. */

import { columnIndex, numberAt, textAt } from "../../api/read";
import type { Table } from "../../api/types";
import type { Leaf } from "../../widgets/chart/icicle";

export interface Grouping {
  readonly id: string;
  readonly label: string;
}

const BY: readonly (Grouping & { readonly columns: readonly string[] })[] = [
  { id: "program", label: "program, category", columns: ["module", "category"] },
  { id: "names", label: "names in the program", columns: ["framework_op"] },
  { id: "source", label: "source file and line", columns: ["source"] },
];

/** What a row lacks. */
const NONE = "not known";
/** Deeper names are cut: their last parts are the op's own. */
const MOST_LEVELS = 12;

/** The groupings for which some row has what it takes. */
export function groupings(table: Table): Grouping[] {
  return BY.filter(({ columns }) =>
    columns.some((id) => {
      const index = columnIndex(table, id);
      return index >= 0 && table.rows.some((row) => (row[index] ?? null) !== null);
    }),
  ).map(({ id, label }) => ({ id, label }));
}

/** A leaf a row; a row without self time has none. */
export function leaves(table: Table, by: string): Leaf[] {
  const column = (id: string): number => columnIndex(table, id);
  const [name, time] = [Math.max(0, columnIndex(table, "name", "op")), column("self_ps")];
  const [module, category, framework, source] = [column("module"), column("category"), column("framework_op"), column("source")];
  return table.rows.flatMap((row, leaf): Leaf[] => {
    const value = numberAt(row, time);
    if (value === null || value <= 0) return [];
    const own = textAt(row, name) ?? NONE;
    const text = (index: number): string => textAt(row, index) ?? NONE;
    const path =
      by === "names"
        ? [...splitName(text(framework)).slice(0, MOST_LEVELS), own]
        : by === "source"
          ? [...splitSource(text(source)), own]
          : [...(module < 0 ? [] : [text(module)]), ...(category < 0 ? [] : [text(category)]), own];
    return [{ path, value, leaf }];
  });
}

/** `jit(f)/layer/dot_general` by its slashes, but those inside brackets. */
function splitName(text: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let part = "";
  for (const sign of text) {
    if (sign === "(") depth += 1;
    if (sign === ")") depth -= 1;
    if (sign === "/" && depth === 0) {
      if (part !== "") parts.push(part);
      part = "";
    } else part += sign;
  }
  return part === "" ? parts : [...parts, part];
}

function splitSource(text: string): string[] {
  const match = /^(.*):(\d+)$/.exec(text);
  return match === null ? [text] : [match[1] ?? text, `line ${match[2] ?? ""}`];
}
