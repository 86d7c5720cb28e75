/** Which step of one run stands over which of another. Pure. */

import type { StepSpan } from "../../api/timeline";
import type { Picos } from "../../base/units";

export interface Alignment {
  readonly first: StepSpan | null;
  readonly second: StepSpan | null;
  /** A time of the second run less the time of the first that it stands under. */
  readonly offset: Picos;
}

function choose(steps: readonly StepSpan[], asked: string): StepSpan | null {
  const named = steps.find((step) => String(step.number) === asked);
  return named ?? steps.find((step) => step.class === "steady") ?? steps[0] ?? null;
}

/** `asked` is `2:5`; without it the first steady steps are aligned, and without steps the starts. */
export function alignment(
  first: readonly StepSpan[],
  second: readonly StepSpan[],
  asked: string,
  firstStart: Picos,
  secondStart: Picos,
): Alignment {
  const [left = "", right = ""] = asked.split(":");
  const [one, other] = [choose(first, left), choose(second, right)];
  if (one === null || other === null) return { first: null, second: null, offset: secondStart - firstStart };
  return { first: one, second: other, offset: other.start_ps - one.start_ps };
}
