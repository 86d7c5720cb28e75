import type { ComponentChildren } from "preact";

import { docsPage } from "../api/anchors";
import type { AnalysisInfo } from "../api/types";

export interface PageHeadProps {
  readonly info: AnalysisInfo;
  /** The analysis whose numbers are shown, where the page is one over several; null while that is not known. */
  readonly of?: AnalysisInfo | null;
  readonly title?: string;
  readonly question?: string;
  readonly children?: ComponentChildren;
}

/** The question that the page answers, the way to how it does, and its controls. */
export function PageHead({ info, of = info, title = info.label, question = info.question, children }: PageHeadProps) {
  return (
    <div class="page-head">
      <div>
        <h1>{title}</h1>
        <p class="question">
          {question}{" "}
          {of !== null && (
            <a class="how-page" href={docsPage(of.id)}>
              How it is computed
            </a>
          )}
        </p>
      </div>
      <div class="page-controls">{children}</div>
    </div>
  );
}
