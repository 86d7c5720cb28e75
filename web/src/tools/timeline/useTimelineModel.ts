/** Makes the model of a run, and keeps it and the address in step. */

import { useEffect, useMemo, useRef } from "preact/hooks";
import { useSignalEffect } from "@preact/signals";

import { getCounters, getEvent, getFlowsOf, getOverlap, getSearch, getTile } from "../../api/timeline";
import type { Tracks } from "../../api/timeline";
import { go, goSelected, route, view, wentTo } from "../../state/route";
import { parseWindow } from "../../state/url";
import { closedAtFirst } from "../../widgets/timeline/layout";
import type { Asks } from "../../widgets/timeline/model";
import { TimelineModel } from "../../widgets/timeline/model";
import { viewOf } from "../../widgets/timeline/viewport";
import {
  readArea,
  readArrangement,
  readColouring,
  readEvent,
  readEvents,
  readMarks,
  readView,
  writeArea,
  writeArrangement,
  writeEvents,
  writeMarks,
  writeView,
} from "./address";
import { chooseEvents, goToEvent } from "./walk";

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
    const scope = parseWindow(route.value.scope.window);
    const inScope = scope === null ? null : { start: scope[0], end: scope[1] };
    made.turn(readView(params["view"], made.bounds) ?? inScope ?? made.home);
    if (readEvent(params["ev"]) !== null) made.awaited.value = params["ev"] ?? "";
    if (readEvents(params["evs"]).length > 0) made.awaitedChosen.value = params["evs"] ?? "";
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
    const overlays = [model.showOverlap.value ? "overlap" : "", model.showBubbles.value ? "bubbles" : ""];
    const picked = model.selected.value;
    const chosen = model.chosen.value;
    const params = {
      view: writeView(model.view.value, model.limits.value, model.home),
      ...writeArrangement(model.how.value, first),
      marks: writeMarks(model.marks.value),
      area: writeArea(model.area.value),
      colour: model.colouring.value === "category" ? "" : model.colouring.value,
      overlay: overlays.filter(Boolean).join(","),
      ev: picked === null ? model.awaited.value : picked.event < 0 ? "" : `${picked.track},${picked.event}`,
      evs: chosen.length === 0 ? model.awaitedChosen.value : writeEvents(chosen),
    };
    const timer = setTimeout(() => {
      const now = view.value;
      const after = picked !== null || chosen.length > 0 || params.ev !== "" || params.evs !== "" || params.area !== "";
      goSelected({ view: params }, (now["ev"] ?? now["evs"] ?? now["area"] ?? "") !== "", after);
    }, SETTLE_MS);
    return () => clearTimeout(timer);
  });
  // Back takes a selection back, and Forward gives it again; the view stays where it is.
  const seen = useRef(wentTo.peek());
  useSignalEffect(() => {
    if (wentTo.value === seen.current) return undefined;
    seen.current = wentTo.value;
    const params = view.peek();
    const abort = new AbortController();
    const area = readArea(params["area"]);
    model.area.value = area;
    if (area === null) model.step.value = null;
    const asked = readEvent(params["ev"]);
    const now = model.selected.peek();
    if (asked === null) model.selected.value = null;
    else if (now?.track !== asked.track || now.event !== asked.event)
      goToEvent(model, asked.track, asked.event, null, abort.signal).catch(() => {});
    const together = params["evs"] ?? "";
    if (together === "") model.chosen.value = [];
    else if (writeEvents(model.chosen.peek()) !== together) void chooseEvents(model, readEvents(together), abort.signal);
    return () => abort.abort();
  });
  // A way to a time or to a track of the timeline that is open already: once it is gone, the address forgets it.
  useSignalEffect(() => {
    const { at = "", track = "" } = view.value;
    if (at === "" && track === "") return;
    const range = parseWindow(at);
    if (range !== null) model.look(viewOf(model.limits.peek(), range[0], range[1]));
    if (/^\d+$/.test(track)) model.show(Number(track));
    go({ view: { at: "", track: "" } }, "replace");
  });
  return model;
}
