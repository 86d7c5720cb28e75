import type { ComponentChildren } from "preact";

/** The question that the page answers, with its controls. */
export function PageHead({
  title,
  question,
  children,
}: {
  readonly title: string;
  readonly question: string;
  readonly children?: ComponentChildren;
}) {
  return (
    <div class="page-head">
      <div>
        <h1>{title}</h1>
        <p class="question">{question}</p>
      </div>
      <div class="page-controls">{children}</div>
    </div>
  );
}
