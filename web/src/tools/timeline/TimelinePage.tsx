import { useEffect, useRef, useState } from "preact/hooks";

import { getClock, getSteps, getTracks } from "../../api/timeline";
import type { Tracks } from "../../api/timeline";
import { formatDuration } from "../../base/format";
import { go, route, view } from "../../state/route";
import { useResource } from "../../state/resource";
import { runId } from "../../state/runs";
import { formatWindow, parseWindow } from "../../state/url";
import { Empty, ErrorBox, Loaded } from "../../widgets/States";
import type { TimelineModel } from "../../widgets/timeline/model";
import type { Picked } from "../../widgets/timeline/picks";
import { TimelineView } from "../../widgets/timeline/TimelineView";
import type { TimelineHands } from "../../widgets/timeline/useKeys";
import { PageHead } from "../PageHead";
import type { PageProps } from "../pages";
import { readEvent } from "./address";
import { AreaPanel } from "./AreaPanel";
import { ClockNote } from "./ClockNote";
import { EventPanel } from "./EventPanel";
import { Legend } from "./Legend";
import { ListPanel } from "./ListPanel";
import { MarksBar } from "./MarksBar";
import { OverlapPanel } from "./OverlapPanel";
import { HitsByName, SearchBar, useSearch } from "./SearchBar";
import { SecondRun } from "./SecondRun";
import { StepBar } from "./StepBar";
import { Toolbar } from "./Toolbar";
import { useTimelineModel } from "./useTimelineModel";
import { flowsOf, goToEvent } from "./walk";

export function TimelinePage({ info }: PageProps) {
  const run = runId.value;
  const tracks = useResource(run === null ? null : `tracks ${run}`, `tracks ${run}`, (signal) => getTracks(run ?? "", signal));
  return (
    <div class="timeline-page">
      <PageHead info={info} />
      <Loaded from={tracks} what="the timeline">
        {(data) =>
          data.groups.length === 0 ? <Empty>This run has no events to draw.</Empty> : <Timeline key={run} run={run ?? ""} tracks={data} />
        }
      </Loaded>
    </div>
  );
}

/** Nothing here reads the view itself: while it moves, only the canvas and the few words that say where it is follow. */
function Timeline({ run, tracks }: { readonly run: string; readonly tracks: Tracks }) {
  const model = useTimelineModel(run, tracks);
  const search = useSearch(run, model);
  const field = useRef<HTMLInputElement>(null);
  const [listed, setListed] = useState(false);
  const steps = useResource(`timeline steps ${run}`, `timeline steps ${run}`, (signal) => getSteps(run, signal));
  const several = (tracks.hosts?.length ?? 0) > 1;
  const clock = useResource(several ? `timeline clock ${run}` : null, `timeline clock ${run}`, (signal) => getClock(run, signal));
  useEffect(() => {
    model.steps.value = steps.data?.steps ?? [];
  }, [model, steps.data]);
  useEffect(() => {
    const asked = readEvent(view.value["ev"]);
    const abort = new AbortController();
    // A link to an event that is gone shows the timeline without it.
    if (asked !== null) goToEvent(model, asked.track, asked.event, null, abort.signal).catch(() => {});
    return () => abort.abort();
  }, [model]);

  const scopeWindow = parseWindow(route.value.scope.window);
  const scope = scopeWindow === null ? null : { start: scopeWindow[0], end: scopeWindow[1] };
  const pick = (next: Picked | null): void => {
    model.selected.value = next;
  };
  const hands: TimelineHands = {
    search: () => {
      field.current?.focus();
      field.current?.select();
    },
    nextHit: (direction) => search.next(direction),
    list: () => setListed(!listed),
    follow: (direction) => {
      const picked = model.selected.value;
      const [other] = picked === null ? [] : flowsOf(model.flows.value, picked, direction);
      if (other !== undefined) goToEvent(model, other.track, other.event, other.depth, new AbortController().signal).catch(() => {});
    },
  };
  return (
    <>
      <Toolbar run={run} model={model} scope={scope} listed={listed} onList={() => setListed(!listed)} />
      <SearchBar model={model} search={search} field={field} />
      <Failure model={model} />
      <TimelineView
        model={model}
        scope={scope}
        onPick={pick}
        hands={hands}
        name={`Timeline of ${run}`}
        onScopeTo={(device) => go({ scope: { devices: device } })}
      />
      <SecondRun run={run} model={model} />
      <Legend model={model} />
      <HitsByName search={search} />
      <StepBar model={model} />
      <MarksBar model={model} />
      {clock.data !== null && several && <ClockNote clock={clock.data} />}
      <AreaPanel run={run} model={model} search={search} onScope={(start, end) => go({ scope: { window: formatWindow(start, end) } })} />
      <EventPanel run={run} model={model} onClose={() => pick(null)} />
      <OverlapPanel model={model} />
      {listed && <ListPanel model={model} onClose={() => setListed(false)} />}
      <Spoken model={model} />
    </>
  );
}

function Failure({ model }: { readonly model: TimelineModel }) {
  const error = model.loader.failure.value;
  return error === null ? null : <ErrorBox error={error} reload={() => model.loader.retry()} />;
}

/** Says what is picked to those who do not see it. */
function Spoken({ model }: { readonly model: TimelineModel }) {
  const picked = model.selected.value;
  const group = model.tracks.groups.find((one) => one.tracks.some((track) => track.id === picked?.track));
  const track = group?.tracks.find((one) => one.id === picked?.track);
  const what = picked === null ? "" : picked.count > 1 ? `${picked.count} events` : picked.name;
  return (
    <p class="visually-hidden" aria-live="polite">
      {picked === null
        ? ""
        : `${what}, ${formatDuration(picked.duration)}, at ${formatDuration(picked.start, 6)}, on ${track?.name ?? "a track"} of ${group?.name ?? "the run"}`}
    </p>
  );
}
