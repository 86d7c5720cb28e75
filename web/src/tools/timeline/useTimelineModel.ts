/** Makes the model of a run, and keeps it and the address in step. */

import { useEffect, useMemo } from "preact/hooks";
import { useSignalEffect } from "@preact/signals";

import { getCounters, getEvent, getFlowsOf, getOverlap, getSearch, getTile } from "../../api/timeline";
import type { Tracks } from "../../api/timeline";
import { go, route, view } from "../../state/route";
import { formatWindow, parseWindow } from "../../state/url";
import { closedAtFirst } from "../../widgets/timeline/layout";
import type { Asks } from "../../widgets/timeline/model";
import { TimelineModel } from "../../widgets/timeline/model";
import { span } from "../../widgets/timeline/viewport";
import { readArea, readArrangement, readColouring, readMarks, writeArea, writeArrangement, writeMarks } from "./address";

/** Waits this long after the last move before the address changes. */
const SETTLE_MS = 250;
/** Hits drawn in view at once: of each track the first of so many columns, so that all of the view shows where some are. */
const DRAWN_HITS = 10_000;
const HIT_COLUMNS = 500;

export function asksOf(run: string): Asks {
  return {
    tile: (range, px, tracks, colour, signal) => getTile({ run, start: range.start, end: range.end, px, tracks, colour }, signal),
    counters: (range, px, tracks, signal) => getCounters(run, range.start, range.end, px, tracks, signal),
    overlap: (range, px, signal) => getOverlap(run, range.start, range.end, px, signal),
    flows: (track, event, signal) => getFlowsOf(run, track, event, signal),
    event: (track, event, signal) => getEvent(run, track, event, signal),
    hits: (range, query, signal) => {
      const window: [string, string][] = [
        ["start", String(Math.floor(range.start))],
        ["end", String(Math.ceil(range.end))],
        ["limit", String(DRAWN_HITS)],
        ["columns", String(HIT_COLUMNS)],
      ];
      return getSearch(run, [...new URLSearchParams(query), ...window], signal);
    },
  };
}

export function useTimelineModel(run: string, tracks: Tracks): TimelineModel {
  const first = useMemo(() => closedAtFirst(tracks.groups), [tracks]);
  const model = useMemo(() => {
    const made = new TimelineModel(tracks, asksOf(run));
    const params = view.value;
    const asked = parseWindow(params["view"] ?? "") ?? parseWindow(route.value.scope.window);
    if (asked !== null) made.look({ start: asked[0], end: asked[1] });
    made.how.value = readArrangement(params, first);
    made.marks.value = readMarks(params["marks"]);
    made.area.value = readArea(params["area"]);
    made.colourBy(readColouring(params["colour"]));
    const overlays = (params["overlay"] ?? "").split(",");
    made.showOverlap.value = overlays.includes("overlap");
    made.showBubbles.value = overlays.includes("bubbles");
    return made;
  }, [tracks, run]);
  useEffect(() => () => model.dispose(), [model]);

  useSignalEffect(() => {
    const { start, end } = model.view.value;
    const whole = span(model.view.value) >= span(model.limits.value);
    const overlays = [model.showOverlap.value ? "overlap" : "", model.showBubbles.value ? "bubbles" : ""];
    const picked = model.selected.value;
    const params = {
      view: whole ? "" : formatWindow(start, end),
      ...writeArrangement(model.how.value, first),
      marks: writeMarks(model.marks.value),
      area: writeArea(model.area.value),
      colour: model.colouring.value === "category" ? "" : model.colouring.value,
      overlay: overlays.filter(Boolean).join(","),
      ev: picked === null || picked.event < 0 ? "" : `${picked.track},${picked.event}`,
    };
    const timer = setTimeout(() => go({ view: params }, "replace"), SETTLE_MS);
    return () => clearTimeout(timer);
  });
  return model;
}
