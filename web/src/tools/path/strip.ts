/** The critical path as stretches of a strip, a row a device. Pure. */

import { columnIndex, numberAt, textAt } from "../../api/read";
import type { Table } from "../../api/types";
import { shadeVar } from "../../base/meaning";
import { classOf } from "../time/classes";

export interface Stretch {
  /** The row of the table. */
  readonly row: number;
  readonly device: string;
  readonly part: string;
  readonly what: string | null;
  readonly start: number;
  readonly time: number;
}

/** In the order of the path; stretches without a place in time are left out. */
export function stretchesOf(table: Table | null): Stretch[] {
  if (table === null) return [];
  const at = (...ids: string[]) => columnIndex(table, ...ids);
  const [start, time, device, part, what] = [at("start_ps"), at("time_ps", "duration_ps"), at("device"), at("part"), at("what", "op")];
  return table.rows.flatMap((cells, row) => {
    const [from, length] = [numberAt(cells, start), numberAt(cells, time)];
    if (from === null || length === null) return [];
    return [
      { row, device: textAt(cells, device) ?? "", part: textAt(cells, part) ?? "", what: textAt(cells, what), start: from, time: length },
    ];
  });
}

export interface Strip {
  readonly devices: readonly string[];
  readonly start: number;
  readonly end: number;
}

/** Each device by its own clock, so that the strip may begin before the step of the first device does. */
export function stripOf(stretches: readonly Stretch[]): Strip | null {
  if (stretches.length === 0) return null;
  const devices = [...new Set(stretches.map((one) => one.device))].sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
  const start = Math.min(...stretches.map((one) => one.start));
  const end = Math.max(...stretches.map((one) => one.start + one.time));
  return end > start ? { devices, start, end } : null;
}

/** Parts of a path that are no class of time by themselves. */
const OTHER: Readonly<Record<string, string>> = {
  collectives: "var(--m-collective)",
  "collectives in flight beside ops": shadeVar("collective", 2),
  "copies in flight beside ops": shadeVar("copy", 2),
  "host transfers in flight beside ops": shadeVar("transfer", 2),
  "begins later than other devices": "var(--odd)",
};

/** The colour of its class of time, the same on every page. */
export function partColour(part: string): string {
  return classOf(part)?.colour ?? OTHER[part] ?? "var(--unknown)";
}

/** Where the path goes from one device to another: what is joined by a line. */
export function crossings(stretches: readonly Stretch[]): { readonly at: number; readonly from: string; readonly to: string }[] {
  return stretches.flatMap((one, i) => {
    const before = stretches[i - 1];
    return before === undefined || before.device === one.device ? [] : [{ at: one.start, from: before.device, to: one.device }];
  });
}

/** Changes as the analysis takes them, one after another. */
export function changesOf(text: string): string[] {
  return text
    .split(";")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

/** With this change where it was not, without it where it was. */
export function toggled(text: string, change: string): string {
  const all = changesOf(text);
  return (all.includes(change) ? all.filter((one) => one !== change) : [...all, change]).join("; ");
}

/** What the analysis' own description gives as examples: the words between backticks. */
export function examplesOf(doc: string): string[] {
  return [...doc.matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? "").filter((one) => one.length > 1);
}
