/** Causes as rows, the costliest first; each opens to what it rests on. */

import type { Report } from "../../api/types";
import { markIn } from "../../state/mark";
import { CopyFinding, FindingParts } from "../../widgets/Finding";
import { Words } from "../../widgets/Words";
import { CauseBar } from "./CauseBar";
import type { Cause } from "./read";

export function CauseList({ causes, report }: { readonly causes: readonly Cause[]; readonly report: Report }) {
  const marked = markIn("causes");
  return (
    <ol class="causes">
      {causes.map((cause, i) => (
        <li key={cause.rank} data-id={cause.finding?.id} class={marked === cause.rank ? "marked" : undefined}>
          <details open={i === 0 || marked === cause.rank}>
            <summary>
              <span class="cause-rank">{cause.rank}</span>
              <span class="cause-claim">
                <Words text={cause.claim} />
              </span>
              <CauseBar cause={cause} />
            </summary>
            <div class="cause-body">
              {cause.finding === null ? (
                <p class="sub">The report has no more on this cause.</p>
              ) : (
                <>
                  <FindingParts finding={cause.finding} report={report} />
                  <CopyFinding finding={cause.finding} />
                </>
              )}
            </div>
          </details>
        </li>
      ))}
    </ol>
  );
}
