/** The page's scope on the timeline: whose tracks are shown, and which stretch of time is meant. Pure. */

import type { StepSpan, TrackGroup, Tracks } from "../../api/timeline";
import { stepsIn } from "../../base/steps";
import type { Scope } from "../../state/url";
import { parseWindow } from "../../state/url";
import type { Viewport } from "../../widgets/timeline/viewport";

/** The tracks of the scope's hosts and devices; the host's own threads stay beside its devices. Without such a scope, or with one that
 * nothing here fits, the very same. */
export function tracksIn(tracks: Tracks, scope: Pick<Scope, "hosts" | "devices">): Tracks {
  const [hosts, devices] = [listOf(scope.hosts), listOf(scope.devices)];
  if (hosts.length === 0 && devices.length === 0) return tracks;
  const ofHost = (group: TrackGroup): boolean => hosts.length === 0 || hosts.includes(group.host);
  const named = (group: TrackGroup): boolean => devices.some((device) => names(group, device));
  const withDevice = new Set(tracks.groups.filter((group) => ofHost(group) && named(group)).map((group) => group.host));
  const kept = tracks.groups.filter(
    (group) => ofHost(group) && (devices.length === 0 || named(group) || (group.kind === "host" && withDevice.has(group.host))),
  );
  return kept.length === 0 || kept.length === tracks.groups.length ? tracks : { ...tracks, groups: kept };
}

/** The first of these modules whose name has one of the scope's words; -1 where there is none. */
export function moduleAt(names: readonly string[], words: string): number {
  const asked = listOf(words);
  return names.findIndex((name) => asked.some((word) => name.includes(word)));
}

function listOf(text: string): string[] {
  return text
    .split(",")
    .map((one) => one.trim())
    .filter((one) => one !== "");
}

/** `host/TPU:0`, or `TPU:0` on each host. */
function names(group: TrackGroup, device: string): boolean {
  const name = group.device ?? group.name;
  return group.kind === "device" && (name === device || name.endsWith(`/${device}`) || name.startsWith(`${device} `));
}

/** The stretch of time that the scope means: its window, its steps, or what both share; null where it means all. */
export function timeIn(scope: Pick<Scope, "window" | "steps" | "steady">, steps: readonly StepSpan[]): Viewport | null {
  const window = parseWindow(scope.window);
  const asked = window === null ? null : { start: window[0], end: window[1] };
  const numbers = new Set(
    stepsIn(
      scope.steps,
      steps.map((step) => step.number),
    ),
  );
  const scoped = scope.steps !== "" || scope.steady;
  const meant = steps.filter(
    (step) => (scope.steps === "" || numbers.has(step.number)) && (!scope.steady || scope.steps !== "" || step.class === "steady"),
  );
  if (!scoped || meant.length === 0) return asked;
  const hull = { start: Math.min(...meant.map((step) => step.start_ps)), end: Math.max(...meant.map((step) => step.end_ps)) };
  if (asked === null) return hull;
  const both = { start: Math.max(hull.start, asked.start), end: Math.min(hull.end, asked.end) };
  return both.end > both.start ? both : asked;
}
