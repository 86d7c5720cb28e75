/** Changes with their sign. Pure. */

import { formatChange, formatShare } from "../../base/format";

/** A change of time: `+1.230 ms`. */
export function durationChange(ps: number): string {
  return formatChange(ps, "ps");
}

/** A change as a share of what was: `−2.4%`. */
export function shareChange(share: number): string {
  if (share !== 0 && Math.abs(share) < 0.001) return "<0.1%";
  return share === 0 ? formatShare(0) : `${share > 0 ? "+" : "−"}${formatShare(Math.abs(share))}`;
}
