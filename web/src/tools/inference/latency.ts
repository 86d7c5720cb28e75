/** Latencies as a histogram, and requests as bars of phases. Pure. */

import { columnIndex, numberAt, textAt } from "../../api/read";
import type { Table } from "../../api/types";
import { shadeVar } from "../../base/meaning";

export interface Bin {
  readonly from: number;
  readonly to: number;
  readonly count: number;
}

/** Equal bins from the shortest to the longest; one bin where all are equal. */
export function histogram(values: readonly number[], bins: number): Bin[] {
  if (values.length === 0 || bins < 1) return [];
  const low = Math.min(...values);
  const high = Math.max(...values);
  if (low === high) return [{ from: low, to: high, count: values.length }];
  const width = (high - low) / bins;
  const counts = Array.from({ length: bins }, () => 0);
  for (const value of values) {
    const at = Math.min(bins - 1, Math.floor((value - low) / width));
    counts[at] = (counts[at] ?? 0) + 1;
  }
  return counts.map((count, i) => ({ from: low + i * width, to: low + (i + 1) * width, count }));
}

/** Bins of which each has a few values on the average, within what a chart has room for. */
export function binsFor(count: number): number {
  return Math.max(1, Math.min(60, Math.ceil(2 * Math.sqrt(count))));
}

export function latencies(requests: Table | null): number[] {
  if (requests === null) return [];
  const column = columnIndex(requests, "latency_ps");
  return requests.rows.map((row) => numberAt(row, column)).filter((ps) => ps !== null);
}

export interface Phase {
  readonly id: string;
  readonly name: string;
  readonly colour: string;
}

/** In the order in which a request goes through them. */
export const PHASES: readonly Phase[] = [
  { id: "preprocess_ps", name: "host, before the device", colour: "var(--m-host)" },
  { id: "batch_formation_ps", name: "waiting for a batch", colour: "var(--series-4)" },
  { id: "runtime_ps", name: "runtime, before the launch", colour: "var(--m-other)" },
  { id: "to_device_ps", name: "transfers to the device", colour: "var(--m-transfer)" },
  { id: "device_ps", name: "device", colour: "var(--m-compute)" },
  { id: "from_device_ps", name: "transfers from the device", colour: shadeVar("transfer", 2) },
  { id: "postprocess_ps", name: "host, after the device", colour: shadeVar("host", 2) },
  { id: "idle_ps", name: "nothing recorded", colour: "var(--m-idle)" },
];

export function phaseColour(name: string): string {
  return PHASES.find((phase) => phase.name === name)?.colour ?? "var(--unknown)";
}

export interface RequestBar {
  readonly row: number;
  readonly name: string;
  readonly latency: number;
  readonly parts: readonly { readonly phase: Phase; readonly ps: number }[];
}

/** The first requests of the table, which has the slowest first. */
export function requestBars(requests: Table | null, most: number): RequestBar[] {
  if (requests === null) return [];
  const [id, latency] = [columnIndex(requests, "request"), columnIndex(requests, "latency_ps")];
  return requests.rows.slice(0, most).map((row, i) => ({
    row: i,
    name: `request ${textAt(row, id) ?? "unknown"}`,
    latency: numberAt(row, latency) ?? 0,
    parts: PHASES.flatMap((phase) => {
      const ps = numberAt(row, columnIndex(requests, phase.id));
      return ps === null || ps <= 0 ? [] : [{ phase, ps }];
    }),
  }));
}
