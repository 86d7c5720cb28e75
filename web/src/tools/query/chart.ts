/** What of an answer of SQL can be drawn, and how. Pure. */

import type { Column, Series, Table } from "../../api/types";
import { cellText, isNumeric } from "../../api/read";
import type { BarRow } from "../../widgets/chart/Bars";

/** Bars below one another; more are a table. */
export const MOST_BARS = 40;
/** A line needs so many points to say more than bars. */
const LINE_FROM = 3;

export interface Chart {
  readonly kind: "bars" | "line";
  /** The column along which it is drawn; the first text of bars. */
  readonly x: number;
  /** Columns that can be drawn, the first one unless another is chosen. */
  readonly y: readonly number[];
}

/** A column whose name says that it counts along: what happened when, or in which step. */
function isAlong(column: Column): boolean {
  return isNumeric(column) && /^(step|step_number|number|bundle|start_ps|end_ps|at_ps|time_ps|t_ps|begin_ps)$/.test(column.id);
}

function rises(table: Table, at: number): boolean {
  let before = Number.NEGATIVE_INFINITY;
  return table.rows.every((row) => {
    const value = row[at];
    if (typeof value !== "number" || value <= before) return false;
    before = value;
    return true;
  });
}

/** How an answer is drawn: a line where a number rises from row to row, else bars by the first words. Null where neither says anything. */
export function chartOf(table: Table): Chart | null {
  if (table.rows.length < 2) return null;
  const numbers = table.columns.flatMap((column, i) =>
    isNumeric(column) && table.rows.some((row) => typeof row[i] === "number") ? [i] : [],
  );
  const words = table.columns.flatMap((column, i) => (column.kind === "text" ? [i] : []));
  const along = numbers.find((i) => isAlong(table.columns[i] as Column) && rises(table, i)) ?? -1;
  const sizes = numbers.filter((i) => i !== along && !isAlong(table.columns[i] as Column));
  if (along >= 0 && sizes.length > 0 && table.rows.length >= LINE_FROM) return { kind: "line", x: along, y: sizes };
  const label = words[0] ?? numbers.find((i) => isAlong(table.columns[i] as Column)) ?? -1;
  const bars = sizes.filter((i) => table.rows.every((row) => row[i] === null || (typeof row[i] === "number" && row[i] >= 0)));
  // A time or a size says more than a count beside it.
  const first = bars.find((i) => (table.columns[i] as Column).kind !== "int");
  const order = first === undefined ? bars : [first, ...bars.filter((i) => i !== first)];
  return label < 0 || order.length === 0 ? null : { kind: "bars", x: label, y: order };
}

export interface Drawn {
  readonly rows: readonly BarRow[];
  /** The largest value of all rows. */
  readonly full: number;
  /** Rows that are known and not drawn. */
  readonly more: number;
}

/** The bars of a column, in the order of the rows. Words of several columns stand side by side, so that rows of one name are told apart. */
export function barsOf(table: Table, chart: Chart, y: number, colour: string): Drawn {
  const words = table.columns.flatMap((column, i) => (column.kind === "text" ? [i] : []));
  const labels = words.length === 0 ? [chart.x] : words;
  const rows: BarRow[] = [];
  let [full, more] = [0, 0];
  for (const cells of table.rows) {
    const value = cells[y];
    if (typeof value !== "number") continue;
    full = Math.max(full, value);
    if (rows.length >= MOST_BARS) {
      more += 1;
      continue;
    }
    const text = cellText(table.columns, cells, y);
    const name = labels.map((i) => cellText(table.columns, cells, i)).join(" · ");
    rows.push({ name, title: `${name}\n${table.columns[y]?.label ?? ""} ${text}`, text, parts: [{ name, value, text, colour }] });
  }
  return { rows, full, more };
}

/** A column along another as a report's series. */
export function seriesOf(table: Table, chart: Chart, y: number): Series {
  const [along, size] = [table.columns[chart.x] as Column, table.columns[y] as Column];
  return {
    id: "sql",
    title: `${size.label} by ${along.label}`,
    x: { label: along.label, unit: along.unit },
    y: { label: size.label, unit: size.unit },
    points: table.rows.map((row): readonly [number, number | null] => [
      row[chart.x] as number,
      typeof row[y] === "number" ? (row[y] as number) : null,
    ]),
  };
}
