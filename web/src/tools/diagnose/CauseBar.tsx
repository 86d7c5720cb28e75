import { formatShare } from "../../base/format";
import { speedupText } from "../../widgets/links";
import type { Cause } from "./read";

/** The share of all the time that would go at most, and how much faster that is. */
export function CauseBar({ cause }: { readonly cause: Cause }) {
  return (
    <span class="cause-gain">
      <span class="cause-track" aria-hidden="true">
        {cause.saved !== null && <span class="gain-bar" style={{ width: `${Math.max(0, Math.min(1, cause.saved)) * 100}%` }} />}
      </span>
      <span class="cause-number">
        {cause.saved === null ? "unknown" : formatShare(cause.saved)}
        <span class="visually-hidden"> of the time at most, </span>
      </span>
      <span class="cause-number strong">{cause.speedup === null ? "" : speedupText(cause.speedup)}</span>
    </span>
  );
}
