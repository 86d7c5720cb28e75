import { formatShare } from "../../base/format";
import { speedupText } from "../../widgets/links";
import type { Cause } from "./read";

/** Shares are of one whole, but most causes are far from all of it: the costliest fills half of the track. */
export function fullOf(causes: readonly Cause[]): number {
  return Math.min(1, 2 * Math.max(0.05, ...causes.map((cause) => cause.saved ?? 0)));
}

/** The share that would go at most, and how much faster that is. */
export function CauseBar({ cause, full }: { readonly cause: Cause; readonly full: number }) {
  return (
    <span class="cause-gain">
      <span class="cause-track" aria-hidden="true">
        {cause.saved !== null && <span class="gain-bar" style={{ width: `${Math.max(0, Math.min(1, cause.saved / full)) * 100}%` }} />}
      </span>
      <span class="cause-number">
        {cause.saved === null ? "unknown" : formatShare(cause.saved)}
        <span class="visually-hidden"> of the time at most, </span>
      </span>
      <span class="cause-number strong">{cause.speedup === null ? "" : speedupText(cause.speedup)}</span>
    </span>
  );
}
