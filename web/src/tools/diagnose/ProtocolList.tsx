/** The protocol as a list to read from the top: what is asked, what was seen, where to look. */

import type { AnalysisInfo, Report } from "../../api/types";
import { useAnalyses } from "../../state/resource";
import { hrefOf, page } from "../../state/route";
import { markIn } from "../../state/mark";
import { command } from "../../widgets/evidence";
import { Said } from "../../widgets/Finding";
import { Tone } from "../../widgets/Tone";
import type { ProtocolStep } from "./read";

const NO_ANALYSES: readonly AnalysisInfo[] = [];

export function ProtocolList({ steps, report }: { readonly steps: readonly ProtocolStep[]; readonly report: Report }) {
  const analyses = useAnalyses().data?.analyses ?? NO_ANALYSES;
  const marked = markIn("protocol");
  return (
    <ol class="protocol">
      {steps.map((step) => (
        <li key={step.number} class={marked === step.number ? "marked" : undefined} data-step={step.number}>
          <span class="protocol-number" aria-hidden="true">
            {step.number}
          </span>
          <div class="protocol-words">
            <p class="protocol-question">{step.question}</p>
            <p class="protocol-said">
              <Said text={step.said} report={report} />
            </p>
            <See text={step.see} analyses={analyses} />
          </div>
          <Tone word={step.verdict} />
        </li>
      ))}
    </ol>
  );
}

/** The command that shows the numbers in full, as a way to its page. */
function See({ text, analyses }: { readonly text: string; readonly analyses: readonly AnalysisInfo[] }) {
  const target = text === "" ? null : command(text, analyses);
  if (target === null || target.to.page === page.value) return null;
  return (
    <a class="way" href={hrefOf(target.to)} data-nav="protocol">
      {text}
    </a>
  );
}
