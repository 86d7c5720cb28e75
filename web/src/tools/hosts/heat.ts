/** The heat map of times by step and device: which cell is how warm, and where it lies. Pure. */

import { columnIndex, numberAt, textAt } from "../../api/read";
import type { Table } from "../../api/types";
import { quantile } from "./quantile";

export type Shown = "duration_ps" | "work_ps" | "wait_ps" | "idle_ps";

export interface HeatCell {
  /** Row of the table of steps. */
  readonly row: number;
  readonly ps: number;
  /** From 0, cool, to {@link LEVELS} - 1, warm. */
  readonly level: number;
}

export interface Heat {
  readonly steps: readonly string[];
  readonly devices: readonly string[];
  /** By device, then by step; null where the device has no such step. */
  readonly cells: readonly (readonly (HeatCell | null)[])[];
  /** The times that the coolest and the warmest level stand for. */
  readonly low: number;
  readonly high: number;
  /** Positions in `devices` at which another host begins. */
  readonly hostStarts: readonly number[];
}

export const LEVELS = 9;

/** Less than this share of a step apart, times look alike: else a colour would make much of noise. */
const NARROWEST = 0.1;

export function hostOf(device: string): string {
  const slash = device.lastIndexOf("/");
  return slash < 0 ? "" : device.slice(0, slash);
}

export function heatOf(table: Table | null, shown: Shown): Heat | null {
  if (table === null || table.rows.length === 0) return null;
  const [step, device] = [columnIndex(table, "step"), columnIndex(table, "device")];
  const [value, whole] = [columnIndex(table, shown), columnIndex(table, "duration_ps")];
  const steps = [...new Set(table.rows.map((row) => textAt(row, step) ?? ""))].sort((a, b) => Number(a) - Number(b));
  const devices = [...new Set(table.rows.map((row) => textAt(row, device) ?? ""))];
  const times = table.rows.map((row) => numberAt(row, value)).filter((ps) => ps !== null);
  if (times.length === 0) return null;
  times.sort((a, b) => a - b);
  const lengths = table.rows.map((row) => numberAt(row, whole)).filter((ps) => ps !== null);
  lengths.sort((a, b) => a - b);
  const [low, high] = widened(quantile(times, 0.02), quantile(times, 0.98), NARROWEST * quantile(lengths, 0.5));
  const stepAt = new Map(steps.map((name, i) => [name, i]));
  const deviceAt = new Map(devices.map((name, i) => [name, i]));
  const cells: (HeatCell | null)[][] = devices.map(() => steps.map(() => null));
  table.rows.forEach((row, i) => {
    const ps = numberAt(row, value);
    const line = cells[deviceAt.get(textAt(row, device) ?? "") ?? -1];
    const at = stepAt.get(textAt(row, step) ?? "");
    if (ps !== null && line !== undefined && at !== undefined) line[at] = { row: i, ps, level: levelOf(ps, low, high) };
  });
  const hostStarts = devices.flatMap((name, i) => (i > 0 && hostOf(name) !== hostOf(devices[i - 1] ?? "") ? [i] : []));
  // Where each host has one device, lines between hosts would be lines everywhere.
  if (hostStarts.length === devices.length - 1) hostStarts.length = 0;
  return { steps, devices, cells, low, high, hostStarts };
}

/** At least so wide, about the same middle, not below 0. */
function widened(low: number, high: number, least: number): readonly [number, number] {
  const missing = Math.max(0, least - (high - low));
  const from = Math.max(0, low - missing / 2);
  return [from, Math.max(high + missing / 2, from + least)];
}

export function levelOf(ps: number, low: number, high: number): number {
  if (!(high > low)) return 0;
  return Math.max(0, Math.min(LEVELS - 1, Math.floor(((ps - low) / (high - low)) * LEVELS)));
}

/** One path a level: thousands of cells are few elements. */
export function heatPaths(heat: Heat, wide: number, high: number, gap: number): string[] {
  const paths = Array.from({ length: LEVELS }, () => "");
  heat.cells.forEach((line, d) => {
    line.forEach((cell, s) => {
      if (cell === null) return;
      const [w, h] = [Math.max(0.5, wide - gap), Math.max(0.5, high - gap)];
      paths[cell.level] += `M${(s * wide).toFixed(1)} ${(d * high).toFixed(1)}h${w.toFixed(1)}v${h.toFixed(1)}h${(-w).toFixed(1)}z`;
    });
  });
  return paths;
}
