import { formatDuration } from "../../base/format";
import { go } from "../../state/route";
import type { TimelineModel } from "../../widgets/timeline/model";
import { viewOf } from "../../widgets/timeline/viewport";

/** The step that was clicked on the ruler, and the way to those beside it. */
export function StepBar({ model }: { readonly model: TimelineModel }) {
  const step = model.step.value;
  if (step === null) return null;
  const steps = model.steps.value;
  const at = steps.indexOf(step);
  const choose = (index: number): void => {
    const next = steps[index];
    if (next === undefined) return;
    model.step.value = next;
    model.area.value = { start: next.start_ps, end: next.end_ps, tracks: null };
    model.reveal(next.start_ps, next.end_ps - next.start_ps);
  };
  return (
    <div class="tl-bar" role="group" aria-label={`Step ${step.number}`}>
      <strong>{`Step ${step.number}`}</strong>
      <span>{`${formatDuration(step.end_ps - step.start_ps)}, ${step.class}`}</span>
      <button type="button" disabled={at <= 0} onClick={() => choose(at - 1)}>
        Previous step
      </button>
      <button type="button" disabled={at >= steps.length - 1} onClick={() => choose(at + 1)}>
        Next step
      </button>
      <button type="button" onClick={() => model.look(viewOf(model.limits.value, step.start_ps, step.end_ps))}>
        Zoom to step
      </button>
      <button type="button" class="primary" onClick={() => go({ scope: { steps: String(step.number) } })}>
        Scope to step
      </button>
    </div>
  );
}
