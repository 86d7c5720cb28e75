/** Several experiments: one line of verdicts, of which one is looked at. */

import { columnIndex, numberAt, tableOf, textAt } from "../../api/read";
import type { Report } from "../../api/types";
import { go } from "../../state/route";
import { Tone } from "../../widgets/Tone";
import { durationChange } from "./quantity";
import { shownWord, toneOfVerdict } from "./verdict";

export function RunStrip({
  report,
  names,
  picked,
}: {
  readonly report: Report;
  readonly names: readonly string[];
  readonly picked: number;
}) {
  const table = tableOf(report, "runs");
  if (names.length < 2) return null;
  const [verdict, delta] = table === null ? [-1, -1] : [columnIndex(table, "verdict"), columnIndex(table, "step_delta_ps")];
  return (
    <ul class="compare-strip-runs" aria-label="Experiments">
      {names.map((name, i) => {
        const row = table?.rows[i];
        const word = textAt(row, verdict);
        const ps = numberAt(row, delta);
        return (
          <li key={name}>
            <button
              type="button"
              aria-pressed={i === picked}
              onClick={() => go({ view: { pick: i === 0 ? "" : String(i + 1), sel: "", kind: "" } })}
            >
              <span class="compare-strip-name">{name}</span>
              <Tone word={shownWord(word)} tone={toneOfVerdict(word ?? "")} />
              <span>{ps === null ? "" : durationChange(ps)}</span>
            </button>
          </li>
        );
      })}
    </ul>
  );
}
