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

export async function goToEvent(
  model: TimelineModel,
  track: number,
  event: number,
  depth: number | null,
  signal: AbortSignal,
): Promise<void> {
  const details = await model.details(track, event, signal);
  if (signal.aborted) return;
  const { start_ps: start, duration_ps: duration, name } = details;
  const known = findEvent(model.loaded, track, event, start);
  model.selected.value = known ?? { track, start, duration, depth: depth ?? 0, name, event, count: 1, className: "" };
  model.reveal(start, duration);
}
