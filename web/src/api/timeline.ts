/** The timeline's questions and answers. Times are picoseconds on the run's clock; null is unknown. */

import type { Cell } from "../base/format";
import type { Picos, Px } from "../base/units";
import type { Query } from "./client";
import { apiUrl, getBytes, getJson } from "./client";

export type TrackKind = "steps" | "modules" | "ops" | "async" | "derived" | "stream" | "thread" | "counters" | "other";

export interface TrackInfo {
  readonly id: number;
  readonly name: string;
  readonly events: number;
  /** Rows that its events need, at least 1. */
  readonly depth: number;
  readonly kind?: TrackKind;
  /** Events stand inside each other, as on a call stack. */
  readonly nests?: boolean;
  /** Numbers over time instead of events. */
  readonly counter?: boolean;
}

export interface TrackGroup {
  readonly id: string;
  readonly name: string;
  /** device or host. */
  readonly kind: string;
  readonly host?: string | null;
  /** As a scope names it. */
  readonly device?: string | null;
  readonly tracks: readonly TrackInfo[];
}

export interface Tracks {
  readonly start_ps: Picos;
  readonly end_ps: Picos;
  readonly groups: readonly TrackGroup[];
  readonly hosts?: readonly string[];
}

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

export interface Counter {
  readonly name: string;
  readonly unit: string;
  readonly min: number | null;
  readonly max: number | null;
  /** Time, then the least, the most and the last value of that pixel. */
  readonly points: readonly (readonly [Picos, number | null, number | null, number | null])[];
}

export interface Counters {
  readonly tracks: readonly { readonly id: number; readonly counters: readonly Counter[] }[];
}

export interface EventStat {
  readonly name: string;
  readonly value: Cell;
  readonly unit?: string;
}

export interface SourceFrame {
  readonly file: string;
  readonly line: number | null;
  readonly function?: string | null;
}

export interface EventDetails {
  readonly name: string;
  readonly start_ps: Picos;
  readonly duration_ps: Picos;
  readonly self_ps: Picos | null;
  readonly stats: readonly EventStat[];
  readonly category?: string | null;
  readonly module?: string | null;
  readonly instruction?: string | null;
  readonly flops?: number | null;
  readonly bytes?: number | null;
  readonly flop_rate?: number | null;
  readonly byte_rate?: number | null;
  /** Of the device's peaks. */
  readonly flop_share?: number | null;
  readonly byte_share?: number | null;
  readonly bound_by?: string | null;
  readonly source?: readonly SourceFrame[] | null;
  readonly op_name?: string | null;
  readonly step?: number | null;
  readonly peaks?: { readonly flops: number | null; readonly hbm: number | null; readonly source: string | null } | null;
}

export interface Hit {
  readonly track: number;
  readonly event: number;
  readonly start_ps: Picos;
  readonly duration_ps: Picos;
  readonly depth: number;
  readonly name: string;
}

export interface SearchAnswer {
  readonly count: number;
  readonly total_ps: Picos;
  readonly longest: Hit | null;
  readonly hits: readonly Hit[];
  readonly by_name: readonly { readonly name: string; readonly count: number; readonly total_ps: Picos }[];
  readonly more: boolean;
  /** How many of all hits stand before the first of those listed. */
  readonly position?: number;
}

export interface OpTotal {
  readonly name: string;
  readonly category: string | null;
  readonly module: string | null;
  readonly count: number;
  readonly total_ps: Picos;
  /** Null on lines whose events overlap without belonging to each other. */
  readonly self_ps: Picos | null;
  readonly flops: number | null;
  readonly bytes: number | null;
}

export interface Totals {
  readonly events: number;
  readonly span_ps: Picos;
  readonly union_ps: Picos;
  readonly by_op: readonly OpTotal[];
  readonly by_category: readonly { readonly name: string; readonly count: number; readonly self_ps: Picos }[];
  readonly tracks: readonly { readonly id: number; readonly events: number; readonly union_ps: Picos }[];
}

export interface FlowEnd {
  readonly track: number;
  readonly event: number;
  readonly depth: number;
  readonly time_ps: Picos;
}

export interface Flow {
  /** launch, send or async. */
  readonly kind: string;
  readonly from: FlowEnd;
  readonly to: FlowEnd;
}

export interface Flows {
  readonly total: number;
  readonly flows: readonly Flow[];
}

export interface StepSpan {
  readonly number: number;
  readonly start_ps: Picos;
  readonly end_ps: Picos;
  /** steady, warm-up, cut or outlier. */
  readonly class: string;
}

export interface Steps {
  readonly source: string | null;
  /** No marker says where a step begins. */
  readonly inferred?: boolean;
  readonly steps: readonly StepSpan[];
}

export interface StepGaps {
  /** Null where the run has no steps and its whole stands for one. */
  readonly number: number | null;
  readonly span_ps: Picos;
  readonly busy_ps: Picos;
  readonly gap_ps: Picos;
  readonly gaps: number;
  readonly largest_ps: Picos;
}

export interface DeviceOverlap {
  readonly device: string;
  readonly group: string;
  /** These three are null where the profile shows no asynchronous work of the device. */
  readonly async_ps: Picos | null;
  readonly hidden_ps: Picos | null;
  readonly exposed_ps: Picos | null;
  /** Start, duration, and whether compute ran beside it. */
  readonly spans: readonly (readonly [Picos, Picos, number])[];
  readonly steps: readonly StepGaps[];
  /** Start, duration and step. */
  readonly gaps: readonly (readonly [Picos, Picos, number | null])[];
}

export interface Overlap {
  readonly devices: readonly DeviceOverlap[];
}

export interface HostClock {
  readonly host: string;
  readonly offset_ps: Picos | null;
  readonly uncertainty_ps: Picos | null;
  readonly samples: number | null;
  readonly method: string | null;
}

export interface Clock {
  readonly hosts: readonly HostClock[];
  readonly note: string | null;
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
