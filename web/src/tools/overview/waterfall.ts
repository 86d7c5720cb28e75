/** From the captured time down to the time in which ops ran, and what those were. Pure. */

import { columnIndex, numberAt, tableOf, textAt, valueNumber } from "../../api/read";
import type { Report } from "../../api/types";

export interface Fall {
  readonly name: string;
  /** Of the bar: from the left, as shares of the capture. */
  readonly from: number;
  readonly to: number;
  readonly ps: number;
  readonly kind: "whole" | "idle" | "busy";
}

/** Parts that miss the whole by more than this do not make one. */
const SLACK = 0.005;

/** Null where the report does not account for the whole capture. */
export function waterfall(report: Report): Fall[] | null {
  const capture = valueNumber(report, "capture_span_ps");
  const busy = valueNumber(report, "device_busy_ps");
  const idle = tableOf(report, "idle");
  if (capture === null || capture <= 0 || busy === null || idle === null) return null;
  const time = columnIndex(idle, "time_ps");
  const lost = idle.rows.map((row) => ({ name: textAt(row, 0) ?? "", ps: numberAt(row, time) }));
  if (lost.some((one) => one.ps === null)) return null;
  const accounted = lost.reduce((sum, one) => sum + (one.ps ?? 0), busy);
  if (Math.abs(accounted - capture) > capture * SLACK) return null;
  const falls: Fall[] = [{ name: "captured", from: 0, to: 1, ps: capture, kind: "whole" }];
  let left = capture;
  for (const { name, ps } of lost) {
    const length = ps ?? 0;
    if (length > 0) falls.push({ name: `idle ${name}`, from: (left - length) / capture, to: left / capture, ps: length, kind: "idle" });
    left -= length;
  }
  return [...falls, { name: "ops run", from: 0, to: busy / capture, ps: busy, kind: "busy" }];
}
