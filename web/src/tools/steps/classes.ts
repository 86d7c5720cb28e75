/** What the time of each step goes to: by the report's classes where it has them, else busy and idle. Pure. */

import { columnIndex, numberAt, tableOf, textAt } from "../../api/read";
import type { Report, Table } from "../../api/types";
import { seriesVar } from "../../base/colour";
import type { StackBar } from "../../widgets/chart/StackChart";

export interface StepStack {
  readonly parts: readonly { readonly name: string; readonly colour: string }[];
  readonly bars: readonly StackBar[];
  /** Whose time it is, in words. */
  readonly note: string;
}

/** Idle classes by their ids: they are drawn in the colours of idle time. */
const IDLE = /idle|inside|between|before|after|input|infeed|bubble|wait/;

function rowsByStep(steps: Table | null): Map<number, number> {
  const column = steps === null ? -1 : columnIndex(steps, "step");
  return new Map(
    (steps?.rows ?? []).flatMap((row, i): [number, number][] => {
      const step = numberAt(row, column);
      return step === null ? [] : [[step, i]];
    }),
  );
}

function byClass(table: Table, rows: ReadonlyMap<number, number>): StepStack {
  const step = columnIndex(table, "step");
  const device = columnIndex(table, "device");
  const whole = columnIndex(table, "time_ps");
  const classes = table.columns.flatMap((column, i) => (column.kind === "duration_ps" && i !== whole ? [{ column, i }] : []));
  let [busy, idle] = [0, 0];
  const parts = classes.map(({ column }) => ({
    name: column.label,
    colour: IDLE.test(column.id) ? `var(--idle-${(idle += 1) % 4})` : seriesVar((busy += 1) - 1),
  }));
  const bars = table.rows.flatMap((row): StackBar[] => {
    const at = numberAt(row, step);
    const known = at === null ? undefined : rows.get(at);
    return at === null || known === undefined
      ? []
      : [{ at, note: textAt(row, device) ?? "", values: classes.map(({ i }) => numberAt(row, i)), row: known }];
  });
  return { parts, bars, note: "of each step's slowest device" };
}

/** Means over the devices that ran the step. */
function busyAndIdle(table: Table, rows: ReadonlyMap<number, number>): StepStack {
  const [step, duration, busy] = [columnIndex(table, "step"), columnIndex(table, "duration_ps"), columnIndex(table, "busy_ps")];
  const sums = new Map<number, { busy: number; idle: number; devices: number }>();
  for (const row of table.rows) {
    const [at, length, active] = [numberAt(row, step), numberAt(row, duration), numberAt(row, busy)];
    if (at === null || length === null || active === null) continue;
    const sum = sums.get(at) ?? { busy: 0, idle: 0, devices: 0 };
    sums.set(at, { busy: sum.busy + active, idle: sum.idle + Math.max(0, length - active), devices: sum.devices + 1 });
  }
  const bars = [...sums].flatMap(([at, sum]): StackBar[] => {
    const row = rows.get(at);
    return row === undefined ? [] : [{ at, note: "", values: [sum.busy / sum.devices, sum.idle / sum.devices], row }];
  });
  const parts = [
    { name: "busy", colour: "var(--busy)" },
    { name: "idle", colour: "var(--idle-1)" },
  ];
  return { parts, bars, note: "mean over devices" };
}

/** Null where the report says neither. */
export function stepStack(report: Report): StepStack | null {
  const rows = rowsByStep(tableOf(report, "steps"));
  const classes = tableOf(report, "classes");
  const devices = tableOf(report, "devices");
  const stack =
    classes !== null && classes.rows.length > 0
      ? byClass(classes, rows)
      : devices !== null && columnIndex(devices, "busy_ps") >= 0
        ? busyAndIdle(devices, rows)
        : null;
  return stack === null || stack.bars.length === 0 ? null : stack;
}
