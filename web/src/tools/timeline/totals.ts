/** The totals of an area as tables. Pure. */

import type { Hit, Totals, TrackGroup } from "../../api/timeline";
import type { Column, Table } from "../../api/types";

const NAME: Column = { id: "name", label: "Op", unit: "", kind: "text", doc: "" };
const COUNT: Column = { id: "count", label: "Events", unit: "", kind: "int", doc: "Events that overlap the area" };
const SELF: Column = {
  id: "self_ps",
  label: "Self time",
  unit: "ps",
  kind: "duration_ps",
  doc: "Time inside the area without what ran inside the event",
};
const SHARE: Column = { id: "share", label: "Share", unit: "1", kind: "share", doc: "Of the self time of all ops in the area" };

function share(part: number | null, whole: number): number | null {
  return part !== null && whole > 0 ? part / whole : null;
}

export function opTable(totals: Totals): Table {
  const whole = totals.by_category.reduce((sum, one) => sum + one.self_ps, 0);
  return {
    id: "area-ops",
    title: "Totals by op",
    columns: [
      NAME,
      SELF,
      SHARE,
      {
        id: "total_ps",
        label: "Total time",
        unit: "ps",
        kind: "duration_ps",
        doc: "Time inside the area, including what ran inside the event",
      },
      COUNT,
      { id: "category", label: "Category", unit: "", kind: "text", doc: "" },
      { id: "module", label: "Module", unit: "", kind: "text", doc: "" },
      { id: "flops", label: "FLOPs", unit: "FLOP", kind: "int", doc: "" },
      { id: "bytes", label: "Bytes", unit: "B", kind: "bytes", doc: "" },
    ],
    rows: totals.by_op.map((op) => [
      op.name,
      op.self_ps,
      // A step, a program and an op are views of the same instant: only ops are parts of what ops took.
      op.kind === "op" ? share(op.self_ps, whole) : null,
      op.total_ps,
      op.count,
      op.category,
      op.module,
      op.flops,
      op.bytes,
    ]),
  };
}

export function categoryTable(totals: Totals): Table {
  const whole = totals.by_category.reduce((sum, one) => sum + one.self_ps, 0);
  return {
    id: "area-categories",
    title: "Totals by category",
    columns: [{ ...NAME, label: "Category" }, SELF, SHARE, COUNT],
    rows: totals.by_category.map((one) => [one.name, one.self_ps, share(one.self_ps, whole), one.count]),
  };
}

export function trackTable(totals: Totals, groups: readonly TrackGroup[]): Table {
  const names = new Map(groups.flatMap((group) => group.tracks.map((track) => [track.id, `${group.name} ${track.name}`] as const)));
  return {
    id: "area-tracks",
    title: "Totals by track",
    columns: [
      { ...NAME, label: "Track" },
      COUNT,
      { id: "union_ps", label: "Busy", unit: "ps", kind: "duration_ps", doc: "Time in which at least one event of the track ran" },
      { ...SHARE, id: "busy_share", doc: "Busy time as a share of the area" },
    ],
    rows: totals.tracks.map((one) => [names.get(one.id) ?? String(one.id), one.events, one.union_ps, share(one.union_ps, totals.span_ps)]),
  };
}

/** Events one by one, with the rows of tracks by name. */
export function eventTable(hits: readonly Hit[], groups: readonly TrackGroup[]): Table {
  const names = new Map(groups.flatMap((group) => group.tracks.map((track) => [track.id, `${group.name} ${track.name}`] as const)));
  return {
    id: "area-events",
    title: "Events",
    columns: [
      { ...NAME, label: "Event" },
      { id: "start_ps", label: "Start", unit: "ps", kind: "duration_ps", doc: "Since the start of the run" },
      { id: "duration_ps", label: "Duration", unit: "ps", kind: "duration_ps", doc: "Its whole duration, also outside the area" },
      { id: "track", label: "Track", unit: "", kind: "text", doc: "" },
      { id: "depth", label: "Level", unit: "", kind: "int", doc: "Its row in the track, 0 at the top" },
    ],
    rows: hits.map((hit) => [hit.name, hit.start_ps, hit.duration_ps, names.get(hit.track) ?? String(hit.track), hit.depth]),
  };
}

/** The tracks that an area without tracks of its own is about: what devices ran, or everything where there is no device. */
export function mainTracks(groups: readonly TrackGroup[]): number[] {
  const events = groups.flatMap((group) => group.tracks.filter((track) => track.counter !== true));
  const ops = events.filter((track) => track.kind === "ops" || track.kind === "stream");
  return (ops.length > 0 ? ops : events).map((track) => track.id);
}
