/** The timeline's questions and answers. Times are picoseconds on the run's clock; null is unknown. */

import type { Picos, Px } from "../base/units";
import type { Query } from "./client";
import { apiUrl, getBytes, getJson } from "./client";
import type { Clock, Counters, EventDetails, Flows, NameStacks, Overlap, SearchAnswer, Steps, Totals, Tracks, Utilisation } from "./types";

export type {
  Clock,
  Counter,
  Counters,
  DeviceOverlap,
  EventDetails,
  EventStat,
  Flow,
  FlowEnd,
  Flows,
  Hit,
  HostClock,
  NameStacks,
  OpTotal,
  Overlap,
  SearchAnswer,
  SourceFrame,
  StackNode,
  StepGaps,
  Steps,
  StepSpan,
  Totals,
  TrackGroup,
  TrackInfo,
  Tracks,
  Utilisation,
} from "./types";

/** What the colours of slices say. */
export type ColourBy = "category" | "module" | "class";

export interface TileRequest {
  readonly run: string;
  readonly start: Picos;
  readonly end: Picos;
  readonly px: Px;
  readonly tracks: readonly number[];
  readonly colour: ColourBy;
}

function windowQuery(start: Picos, end: Picos): [string, string][] {
  return [
    ["start", String(Math.floor(start))],
    ["end", String(Math.ceil(end))],
  ];
}

function ask<T>(path: string, query: Query, signal?: AbortSignal): Promise<T> {
  return getJson(apiUrl(`timeline/${path}`, query), signal);
}

export function getTracks(run: string, signal?: AbortSignal): Promise<Tracks> {
  return ask("tracks", [["run", run]], signal);
}

export function getTile(request: TileRequest, signal?: AbortSignal): Promise<ArrayBuffer> {
  const query: Query = [
    ["run", request.run],
    ...windowQuery(request.start, request.end),
    ["px", String(Math.round(request.px))],
    ["tracks", request.tracks.join(",")],
    ["colour", request.colour],
  ];
  return getBytes(apiUrl("timeline/tile", query), signal);
}

export function getCounters(
  run: string,
  start: Picos,
  end: Picos,
  px: Px,
  tracks: readonly number[],
  signal?: AbortSignal,
): Promise<Counters> {
  return ask("counters", [["run", run], ...windowQuery(start, end), ["px", String(Math.round(px))], ["tracks", tracks.join(",")]], signal);
}

export function getEvent(run: string, track: number, event: number, signal?: AbortSignal): Promise<EventDetails> {
  return ask(
    "event",
    [
      ["run", run],
      ["track", String(track)],
      ["event", String(event)],
    ],
    signal,
  );
}

export function getSearch(run: string, params: Query, signal?: AbortSignal): Promise<SearchAnswer> {
  return ask("search", [["run", run], ...params], signal);
}

export function getTotals(run: string, start: Picos, end: Picos, tracks: readonly number[], signal?: AbortSignal): Promise<Totals> {
  return ask("totals", [["run", run], ...windowQuery(start, end), ["tracks", tracks.join(",")]], signal);
}

/** What lay in what; of one name, what it lay in as well. */
export function getStacks(
  run: string,
  start: Picos,
  end: Picos,
  tracks: readonly number[],
  name: string,
  signal?: AbortSignal,
): Promise<NameStacks> {
  const query: Query = [["run", run], ...windowQuery(start, end), ["tracks", tracks.join(",")]];
  return ask("stacks", name === "" ? query : [...query, ["name", name]], signal);
}

/** The flows that begin or end at one event. */
export function getFlowsOf(run: string, track: number, event: number, signal?: AbortSignal): Promise<Flows> {
  return ask(
    "flows",
    [
      ["run", run],
      ["track", String(track)],
      ["event", String(event)],
    ],
    signal,
  );
}

export function getSteps(run: string, signal?: AbortSignal): Promise<Steps> {
  return ask("steps", [["run", run]], signal);
}

export function getOverlap(run: string, start: Picos, end: Picos, px: Px, signal?: AbortSignal): Promise<Overlap> {
  return ask("overlap", [["run", run], ...windowQuery(start, end), ["px", String(Math.round(px))]], signal);
}

/** Busy time of the whole run in so many parts. */
export function getUtilisation(run: string, px: Px, signal?: AbortSignal): Promise<Utilisation> {
  return ask(
    "utilisation",
    [
      ["run", run],
      ["px", String(Math.round(px))],
    ],
    signal,
  );
}

export function getClock(run: string, signal?: AbortSignal): Promise<Clock> {
  return ask("clock", [["run", run]], signal);
}

export type ExportFormat = "perfetto" | "chrome" | "folded" | "speedscope";

export function exportUrl(run: string, format: ExportFormat, start: Picos, end: Picos, tracks: readonly number[] | null): string {
  const token = new URLSearchParams(location.search).get("token") ?? "";
  const query: Query = [
    ["run", run],
    ["format", format],
    ...windowQuery(start, end),
    ["tracks", tracks?.join(",") ?? ""],
    ["token", token],
  ];
  return apiUrl("timeline/export", query);
}

export function getExport(run: string, format: ExportFormat, start: Picos, end: Picos, signal?: AbortSignal): Promise<ArrayBuffer> {
  return getBytes(exportUrl(run, format, start, end, null), signal);
}
