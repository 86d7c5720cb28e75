/** The verdict first, with its interval and the noise floor, and what to do about runs that are not comparable. */

import { tableOf } from "../../api/read";
import type { Report } from "../../api/types";
import { formatCell } from "../../base/format";
import { go, view } from "../../state/route";
import { CopyButton } from "../CopyButton";
import { FindingParts } from "../../widgets/Finding";
import { Tone } from "../../widgets/Tone";
import { markdown } from "./markdown";
import { runName } from "./RunsBar";
import { breaking, isNotComparable, shownWord, stepFinding, toneOfVerdict, verdictOf } from "./verdict";

export interface VerdictBoxProps {
  readonly report: Report;
  readonly baseline: string;
  readonly experiment: string;
}

export function VerdictBox({ report, baseline, experiment }: VerdictBoxProps) {
  const verdict = verdictOf(report);
  const step = isNotComparable(report) ? null : stepFinding(report);
  return (
    <section class={`compare-verdict ${verdict.tone}`} aria-label="Verdict">
      <div class="compare-verdict-head">
        <Tone word={shownWord(verdict.word)} tone={toneOfVerdict(verdict.word)} />
        <p class="compare-headline">{verdict.headline}</p>
        <CopyButton
          label="Copy as Markdown"
          tip="The verdict, the metrics, where the change comes from and the ops that changed"
          text={() => markdown(report, runName(baseline), runName(experiment))}
        />
      </div>
      {verdict.said.length > 0 && (
        <ul class="compare-said">
          {verdict.said.map((one) => (
            <li key={one}>{one}</li>
          ))}
        </ul>
      )}
      <Differing report={report} />
      {step !== null && (
        <details class="provenance">
          <summary>The evidence for the verdict, and what would prove it wrong</summary>
          <FindingParts finding={step} report={report} />
        </details>
      )}
    </section>
  );
}

/** The facts that make the runs incomparable, and the way to compare them anyway. */
function Differing({ report }: { readonly report: Report }) {
  const facts = breaking(tableOf(report, "facts"));
  const anyway = view.value["force"] === "yes";
  if ((facts === null || facts.rows.length === 0) && !isNotComparable(report)) return null;
  return (
    <div class="compare-differing">
      {anyway && <p>Compared anyway. These runs differ in something that the step time depends on:</p>}
      {facts !== null && facts.rows.length > 0 && (
        <table class="data plain facts">
          <thead>
            <tr>
              {["what", "baseline", "experiment"].map((id) => (
                <th scope="col" key={id}>
                  {facts.columns.find((column) => column.id === id)?.label ?? id}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {facts.rows.map((row, i) => (
              <tr key={i}>
                {["what", "baseline", "experiment"].map((id) => {
                  const at = facts.columns.findIndex((column) => column.id === id);
                  const column = facts.columns[at];
                  const text = formatCell(row[at] ?? null, column?.kind ?? "text", column?.unit ?? "");
                  return id === "what" ? (
                    <th scope="row" key={id}>
                      {text}
                    </th>
                  ) : (
                    <td key={id}>{text}</td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <button type="button" onClick={() => go({ view: { force: anyway ? "" : "yes" } })}>
        {anyway ? "Do not compare them anyway" : "Compare anyway"}
      </button>
    </div>
  );
}
