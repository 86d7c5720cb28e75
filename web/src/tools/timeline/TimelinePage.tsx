import { useEffect, useMemo } from "preact/hooks";
import { useSignalEffect } from "@preact/signals";

import { getTracks, getWindow } from "../../api/client";
import type { Tracks } from "../../api/types";
import { formatDuration } from "../../base/format";
import { go, route, view } from "../../state/route";
import { useResource } from "../../state/resource";
import { runId } from "../../state/runs";
import { formatWindow, parseWindow } from "../../state/url";
import { Empty, ErrorBox, Loaded } from "../../widgets/States";
import { closedAtFirst } from "../../widgets/timeline/layout";
import { TimelineModel } from "../../widgets/timeline/model";
import type { Picked } from "../../widgets/timeline/renderer";
import { TimelineView } from "../../widgets/timeline/TimelineView";
import { span, viewOf, zoomAt } from "../../widgets/timeline/viewport";
import { PageHead } from "../PageHead";
import type { PageProps } from "../pages";
import { EventPanel } from "./EventPanel";

export function TimelinePage({ info }: PageProps) {
  const run = runId.value;
  const tracks = useResource(run === null ? null : `tracks ${run}`, `tracks ${run}`, (signal) => getTracks(run ?? "", signal));
  return (
    <div class="timeline-page">
      <PageHead title="Timeline" question={info.question} />
      <Loaded from={tracks} what="the timeline">
        {(data) =>
          data.groups.length === 0 ? <Empty>This run has no events to draw.</Empty> : <Timeline key={run} run={run ?? ""} tracks={data} />
        }
      </Loaded>
    </div>
  );
}

/** In the address: no group is closed. */
const OPEN = "none";

/** Waits this long after the last move before the address changes. */
const SETTLE_MS = 250;

function Timeline({ run, tracks }: { readonly run: string; readonly tracks: Tracks }) {
  const first = useMemo(() => closedAtFirst(tracks.groups), [tracks]);
  const model = useMemo(() => {
    const made = new TimelineModel(tracks, (range, px, ids, signal) =>
      getWindow({ run, start: range.start, end: range.end, px, tracks: ids }, signal),
    );
    const asked = parseWindow(view.value["view"] ?? "") ?? parseWindow(route.value.scope.window);
    if (asked !== null) made.look({ start: asked[0], end: asked[1] });
    const closed = view.value["closed"];
    made.closed.value = new Set(closed === undefined ? first : closed === OPEN ? [] : closed.split(","));
    return made;
  }, [tracks, run]);
  useEffect(() => () => model.dispose(), [model]);

  useSignalEffect(() => {
    const { start, end } = model.view.value;
    const whole = span(model.view.value) >= span(model.bounds);
    const now = [...model.closed.value].join(",");
    const closed = now === first.join(",") ? "" : now || OPEN;
    const timer = setTimeout(() => go({ view: { view: whole ? "" : formatWindow(start, end), closed } }, "replace"), SETTLE_MS);
    return () => clearTimeout(timer);
  });

  const scopeWindow = parseWindow(route.value.scope.window);
  const scope = scopeWindow === null ? null : { start: scopeWindow[0], end: scopeWindow[1] };
  const range = model.range.value;
  const chosen = range ?? model.view.value;
  const centre = (model.view.value.start + model.view.value.end) / 2;
  const picked = model.selected.value;
  const pick = (next: Picked | null): void => {
    model.selected.value = next;
  };
  return (
    <>
      <div class="tl-toolbar">
        <button type="button" onClick={() => model.look(zoomAt(model.bounds, model.view.value, 0.5, centre))} aria-label="Zoom in">
          +
        </button>
        <button type="button" onClick={() => model.look(zoomAt(model.bounds, model.view.value, 2, centre))} aria-label="Zoom out">
          −
        </button>
        <button type="button" onClick={() => model.look(model.bounds)}>
          Fit
        </button>
        {range !== null && (
          <button type="button" onClick={() => model.look(viewOf(model.bounds, range.start, range.end))}>
            Zoom to selection
          </button>
        )}
        <button
          type="button"
          class="primary"
          disabled={span(chosen) >= span(model.bounds)}
          title="Every other page then counts only what happened in this stretch of time"
          onClick={() => {
            model.range.value = null;
            go({ scope: { window: formatWindow(chosen.start, chosen.end) } });
          }}
        >
          {range === null ? "Scope to view" : "Scope to selection"}
        </button>
        {scope !== null && (
          <button type="button" onClick={() => go({ scope: { window: "" } })}>
            Clear scope
          </button>
        )}
        <span class="tl-span">
          {range === null
            ? `${formatDuration(chosen.start, 6)} + ${formatDuration(span(chosen))}`
            : `selected ${formatDuration(span(range))}`}
        </span>
        <span class="tl-busy" role="status">
          {model.loading.value ? "loading…" : ""}
        </span>
      </div>
      {model.failure.value !== null && <ErrorBox error={model.failure.value} reload={() => model.retry()} />}
      <TimelineView model={model} scope={scope} onPick={pick} />
      <EventPanel run={run} model={model} picked={picked} onClose={() => pick(null)} />
    </>
  );
}
