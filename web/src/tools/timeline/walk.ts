/** From an event to another that the server named: a hit, or the other end of a flow. */

import type { Flow, FlowEnd, Hit } from "../../api/timeline";
import type { TimelineModel } from "../../widgets/timeline/model";
import type { Picked } from "../../widgets/timeline/picks";
import { findEvent } from "../../widgets/timeline/picks";

export function pickedOfHit(hit: Hit): Picked {
  return {
    track: hit.track,
    start: hit.start_ps,
    duration: hit.duration_ps,
    depth: hit.depth,
    name: hit.name,
    event: hit.event,
    count: 1,
    className: "",
  };
}

/** The flows that end at an event, and those that begin there. */
export function flowsOf(flows: readonly Flow[], picked: Picked, direction: 1 | -1): FlowEnd[] {
  const here = (end: FlowEnd): boolean => end.track === picked.track && end.event === picked.event;
  return flows.flatMap((flow) => (direction === 1 ? (here(flow.from) ? [flow.to] : []) : here(flow.to) ? [flow.from] : []));
}

/** An event that is named by its track and its row: as it is drawn, where that is known, else as the server tells it. */
async function eventOf(model: TimelineModel, track: number, event: number, depth: number | null, signal: AbortSignal): Promise<Picked> {
  const { start_ps: start, duration_ps: duration, name } = await model.details(track, event, signal);
  const known = findEvent(model.loaded, track, event, start);
  return known ?? { track, start, duration, depth: depth ?? 0, name, event, count: 1, className: "" };
}

export async function goToEvent(
  model: TimelineModel,
  track: number,
  event: number,
  depth: number | null,
  signal: AbortSignal,
): Promise<void> {
  const picked = await eventOf(model, track, event, depth, signal);
  if (signal.aborted) return;
  model.selected.value = picked;
  model.reveal(picked.start, picked.duration);
}

/** Picks events together that an address names. One that is gone is left out. */
export async function chooseEvents(
  model: TimelineModel,
  asked: readonly { readonly track: number; readonly event: number }[],
  signal: AbortSignal,
): Promise<void> {
  const found = await Promise.all(asked.map((one) => eventOf(model, one.track, one.event, null, signal).catch(() => null)));
  if (!signal.aborted) model.chosen.value = found.filter((one) => one !== null);
}
