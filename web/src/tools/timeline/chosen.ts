/** Events that were picked together, as a table and in sums. Pure. */

import type { TrackGroup } from "../../api/timeline";
import type { Table } from "../../api/types";
import type { Picos } from "../../base/units";
import type { Picked } from "../../widgets/timeline/picks";

export interface Sums {
  readonly events: number;
  /** Of their lengths; time in which two of them run counts twice. */
  readonly total: Picos;
  readonly start: Picos;
  readonly end: Picos;
  /** Time in which at least one of them runs. */
  readonly covered: Picos;
}

export function sumsOf(chosen: readonly Picked[]): Sums {
  const spans = chosen.map((one): [number, number] => [one.start, one.start + one.duration]).sort((a, b) => a[0] - b[0]);
  let [covered, until] = [0, Number.NEGATIVE_INFINITY];
  for (const [start, end] of spans) {
    covered += Math.max(0, end - Math.max(start, until));
    until = Math.max(until, end);
  }
  return {
    events: chosen.reduce((sum, one) => sum + one.count, 0),
    total: chosen.reduce((sum, one) => sum + one.duration, 0),
    start: spans[0]?.[0] ?? 0,
    end: Math.max(0, ...spans.map(([, end]) => end)),
    covered,
  };
}

export function chosenTable(chosen: readonly Picked[], groups: readonly TrackGroup[]): Table {
  const where = (id: number): string => {
    const group = groups.find((one) => one.tracks.some((track) => track.id === id));
    return `${group?.tracks.find((track) => track.id === id)?.name ?? ""} of ${group?.name ?? ""}`;
  };
  const text = (id: string, label: string) => ({ id, label, unit: "", kind: "text" as const, doc: "" });
  const time = (id: string, label: string, doc: string) => ({ id, label, unit: "ps", kind: "duration_ps" as const, doc });
  return {
    id: "chosen",
    title: "Events",
    columns: [
      text("op", "Event"),
      time("duration_ps", "Length", ""),
      time("start_ps", "Start", "From the start of the run."),
      time("after_ps", "After the first", "Its start minus that of the first one."),
      text("track", "Track"),
    ],
    rows: chosen.map((one) => [
      one.count > 1 ? `${one.count} events` : one.name,
      one.duration,
      one.start,
      one.start - Math.min(...chosen.map((other) => other.start)),
      where(one.track),
    ]),
  };
}
