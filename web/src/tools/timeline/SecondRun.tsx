/** Another run under the first, aligned by a step of each. */

import { useEffect, useMemo } from "preact/hooks";

import { getSteps, getTracks } from "../../api/timeline";
import type { StepSpan, Tracks } from "../../api/timeline";
import { formatDuration } from "../../base/format";
import { go, view } from "../../state/route";
import { useResource } from "../../state/resource";
import { runs } from "../../state/runs";
import { Empty, ErrorBox, Loading } from "../../widgets/States";
import { closedAtFirst } from "../../widgets/timeline/layout";
import { linkModels } from "../../widgets/timeline/link";
import { TimelineModel } from "../../widgets/timeline/model";
import { TimelineView } from "../../widgets/timeline/TimelineView";
import { AS_IT_COMES } from "../../widgets/timeline/layout";
import { alignment } from "./align";
import { asksOf } from "./useTimelineModel";

export function SecondRun({ run, model }: { readonly run: string; readonly model: TimelineModel }) {
  const others = (runs.value?.runs ?? []).filter((one) => one.id !== run);
  const other = view.value["with"] ?? "";
  if (others.length === 0 && other === "") return null;
  return (
    <section class="tl-second" aria-label="Second run">
      <label class="field">
        <span>compare with run</span>
        <select value={other} onChange={(event) => go({ view: { with: event.currentTarget.value, align: "" } }, "replace")}>
          <option value="" selected={other === ""}>
            none
          </option>
          {others.map((one) => (
            <option value={one.id} selected={one.id === other}>
              {one.name}
            </option>
          ))}
        </select>
      </label>
      {other !== "" && <Other key={other} run={other} model={model} />}
    </section>
  );
}

function Other({ run, model }: { readonly run: string; readonly model: TimelineModel }) {
  const tracks = useResource(`tracks ${run}`, `tracks ${run}`, (signal) => getTracks(run, signal));
  const steps = useResource(`timeline steps ${run}`, `timeline steps ${run}`, (signal) => getSteps(run, signal));
  if (tracks.error !== null) return <ErrorBox error={tracks.error} reload={tracks.reload} />;
  if (tracks.data === null || (steps.data === null && steps.error === null)) return <Loading what="the second run" />;
  if (tracks.data.groups.length === 0) return <Empty>That run has no events to draw.</Empty>;
  return <Aligned run={run} tracks={tracks.data} steps={steps.data?.steps ?? []} first={model} />;
}

interface AlignedProps {
  readonly run: string;
  readonly tracks: Tracks;
  readonly steps: readonly StepSpan[];
  readonly first: TimelineModel;
}

function Aligned({ run, tracks, steps, first }: AlignedProps) {
  const second = useMemo(() => {
    const made = new TimelineModel(tracks, asksOf(run));
    made.how.value = { ...AS_IT_COMES, closed: new Set(closedAtFirst(tracks.groups)) };
    made.steps.value = steps;
    return made;
  }, [run, tracks, steps]);
  useEffect(() => () => second.dispose(), [second]);
  const own = first.steps.value;
  const now = alignment(own, steps, view.value["align"] ?? "", first.bounds.start, second.bounds.start);
  useEffect(() => linkModels(first, second, now.offset), [first, second, now.offset]);
  useEffect(() => {
    second.colourBy(first.colouring.value);
  }, [second, first.colouring.value]);
  const choose = (left: string, right: string): void => go({ view: { align: `${left}:${right}` } }, "replace");
  return (
    <>
      <div class="tl-bar">
        {now.first !== null && now.second !== null ? (
          <>
            <StepChoice
              label="step of this run"
              steps={own}
              value={now.first}
              onChange={(step) => choose(step, String(now.second?.number))}
            />
            <StepChoice
              label="under it, step of the other"
              steps={steps}
              value={now.second}
              onChange={(step) => choose(String(now.first?.number), step)}
            />
            <span class="tl-note">{`${difference(now.first, now.second)}`}</span>
          </>
        ) : (
          <span class="tl-note">One of the runs has no steps: both are aligned by their start.</span>
        )}
      </div>
      <TimelineView model={second} scope={null} onPick={(picked) => (second.selected.value = picked)} name={`Timeline of ${run}`} />
      <SecondPick model={second} />
    </>
  );
}

function difference(first: StepSpan, second: StepSpan): string {
  const by = second.end_ps - second.start_ps - (first.end_ps - first.start_ps);
  const share = first.end_ps > first.start_ps ? by / (first.end_ps - first.start_ps) : 0;
  if (by === 0) return "Both steps take the same time.";
  return `The other's step takes ${formatDuration(Math.abs(by))} (${Math.abs(share * 100).toFixed(1)}%) ${by > 0 ? "longer" : "less"}.`;
}

function SecondPick({ model }: { readonly model: TimelineModel }) {
  const picked = model.selected.value;
  if (picked === null) return null;
  return (
    <p class="tl-bar" aria-live="polite">
      <strong>{picked.name}</strong>
      <span>{`${formatDuration(picked.duration)} at ${formatDuration(picked.start, 7)}, in the other run`}</span>
    </p>
  );
}

interface StepChoiceProps {
  readonly label: string;
  readonly steps: readonly StepSpan[];
  readonly value: StepSpan;
  readonly onChange: (step: string) => void;
}

function StepChoice({ label, steps, value, onChange }: StepChoiceProps) {
  return (
    <label class="field">
      <span>{label}</span>
      <select value={String(value.number)} onChange={(event) => onChange(event.currentTarget.value)}>
        {steps.map((step) => (
          <option value={String(step.number)} selected={step === value}>
            {step.class === "steady" ? step.number : `${step.number} (${step.class})`}
          </option>
        ))}
      </select>
    </label>
  );
}
