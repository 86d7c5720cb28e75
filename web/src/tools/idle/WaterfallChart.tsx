/** The waterfall in plain elements: it wraps, it is read aloud, it needs no measuring. */

import { formatDuration, formatShare } from "../../base/format";
import { Empty } from "../../widgets/States";
import type { Fall } from "./waterfall";

export function WaterfallChart({ falls }: { readonly falls: readonly Fall[] }) {
  const whole = falls[0]?.ps ?? 0;
  if (whole <= 0) return <Empty>No time in this scope.</Empty>;
  const percent = (ps: number): string => `${(ps / whole) * 100}%`;
  return (
    <ul class="hbars">
      {falls.map((fall) => (
        <li class={fall.total ? "fall-total" : ""} title={`${fall.name}: ${formatDuration(fall.ps)}`}>
          <span class="hbar-name">{fall.name}</span>
          <span class="hbar-track" aria-hidden="true">
            <span
              class="hbar"
              style={{ marginLeft: percent(fall.from), width: percent(fall.to - fall.from), backgroundColor: fall.colour }}
            />
          </span>
          <span class="hbar-text">
            {formatDuration(fall.ps, 3)}
            {fall.share !== null && ` · ${formatShare(fall.share)}`}
          </span>
        </li>
      ))}
    </ul>
  );
}
