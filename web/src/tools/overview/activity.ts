/** How each device spent the capture, from the overview's table of devices. Pure. */

import { columnIndex, numberAt, textAt } from "../../api/read";
import type { Table } from "../../api/types";

export interface Part {
  readonly name: string;
  readonly ps: number;
}

export interface Activity {
  readonly device: string;
  /** Busy first, then idle inside the active window, then what lies outside it. */
  readonly parts: readonly Part[];
}

export const BUSY = "busy";
const IDLE = "idle in the active window";
const OUTSIDE = "outside the active window";

export function deviceActivity(devices: Table | null): Activity[] {
  if (devices === null) return [];
  const name = columnIndex(devices, "device", "name");
  const busy = columnIndex(devices, "busy_ps");
  const active = columnIndex(devices, "active_window_ps");
  const capture = columnIndex(devices, "capture_span_ps");
  return devices.rows.flatMap((row) => {
    const busyPs = numberAt(row, busy);
    if (busyPs === null) return [];
    const activePs = numberAt(row, active);
    const capturePs = numberAt(row, capture);
    const parts: Part[] = [{ name: BUSY, ps: busyPs }];
    if (activePs !== null) parts.push({ name: IDLE, ps: Math.max(0, activePs - busyPs) });
    if (capturePs !== null) parts.push({ name: activePs === null ? "idle" : OUTSIDE, ps: Math.max(0, capturePs - (activePs ?? busyPs)) });
    return [{ device: textAt(row, name) ?? "", parts }];
  });
}
