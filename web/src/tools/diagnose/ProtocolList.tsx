/** The protocol as a list to read from the top: what is asked, what was seen, where to look. */

import type { AnalysisInfo, Report } from "../../api/types";
import { useAnalyses } from "../../state/resource";
import { hrefOf } from "../../state/route";
import { markIn } from "../../state/mark";
import { Said } from "../../widgets/Finding";
import { Tone } from "../../widgets/Tone";
import type { ProtocolStep } from "./read";
import { seeParts } from "./read";

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
            {step.see !== "" && (
              <ul class="finding-links">
                {seeParts(step.see, analyses).map((part) => (
                  <li key={part.text}>
                    {part.page === null || part.page === report.analysis ? (
                      <span class="sub">{part.text}</span>
                    ) : (
                      <a class="way" href={hrefOf({ page: part.page })} data-nav="protocol">
                        {part.text}
                      </a>
                    )}
                  </li>
                ))}
              </ul>
            )}
          </div>
          <Tone word={step.verdict} />
        </li>
      ))}
    </ol>
  );
}
