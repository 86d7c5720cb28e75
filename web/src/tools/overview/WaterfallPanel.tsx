import type { Report } from "../../api/types";
import { formatDuration, formatShare } from "../../base/format";
import { Panel } from "../../widgets/Panel";
import { waterfall } from "./waterfall";

const COLOURS = { whole: "var(--merged)", idle: "var(--idle-1)", busy: "var(--busy)" } as const;

/** What is left of the captured time when one idle part after the other is taken away. */
export function WaterfallPanel({ report }: { readonly report: Report }) {
  const falls = waterfall(report);
  if (falls === null) return null;
  return (
    <Panel title="From the capture to the busy time" note="mean over devices; shares of the capture" picture="overview-waterfall">
      <ul class="hbars">
        {falls.map((fall) => (
          <li key={fall.name}>
            <span class="hbar-name">{fall.name}</span>
            <span class="hbar-track fall" aria-hidden="true">
              <span
                class="hbar"
                style={{
                  marginLeft: `${fall.from * 100}%`,
                  width: `max(1px, ${(fall.to - fall.from) * 100}%)`,
                  backgroundColor: COLOURS[fall.kind],
                }}
              />
            </span>
            <span class="hbar-text">{`${fall.kind === "idle" ? "−" : ""}${formatDuration(fall.ps, 3)} · ${formatShare(fall.to - fall.from)}`}</span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
