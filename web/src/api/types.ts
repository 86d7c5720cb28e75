/** The server's answers, as DESIGN §3 fixes them. This file is the page's whole knowledge of the server. */

import type { Cell } from "../base/format";

export interface RunInfo {
  readonly id: string;
  readonly name: string;
  readonly path: string;
  readonly hosts: readonly string[];
  readonly size_bytes: number;
  readonly modified_ms: number;
  /** A file of it is still being written. */
  readonly writing?: boolean;
}

export interface Runs {
  readonly runs: readonly RunInfo[];
  readonly default: string | null;
  readonly version: string;
  readonly logdir: string;
  /** Stands for this listing, to ask for another one with. */
  readonly listing?: string;
  /** The place lies elsewhere and cannot be listed now: when it could last, and why. */
  readonly stale?: { readonly since_ms: number; readonly why: string } | null;
}

/** How far the reading of a run has come. */
export interface Progress {
  readonly run: string;
  /** idle, opening, reading or read. */
  readonly state: string;
  readonly hosts_done: number;
  readonly hosts: number;
  readonly bytes_done: number;
  readonly bytes: number;
}

export interface ParamInfo {
  readonly id: string;
  readonly doc: string;
  /** choice, count, quantity, text or document (the text of a file). */
  readonly kind: string;
  readonly choices?: readonly string[];
  readonly default?: string | number | boolean | null;
}

export interface AnalysisInfo {
  /** As in addresses: `memory-peak`. */
  readonly id: string;
  /** As on the command line: `memory peak`. */
  readonly name?: string;
  /** The parameter that names the run to hold against the first, where it takes one. */
  readonly others?: "other" | "baseline" | null;
  /** It may name several, with commas between. */
  readonly takes_many?: boolean;
  /** What a profile must hold for a full answer. */
  readonly needs?: readonly string[];
  readonly question: string;
  readonly params: readonly ParamInfo[];
}

export interface Analyses {
  readonly analyses: readonly AnalysisInfo[];
  /** Whether `/api/ledger` has a history of runs. An older server does not say. */
  readonly ledger?: boolean;
  /** Whether `/api/capture` captures. An older server does not say. */
  readonly capture?: boolean;
}

export interface Value {
  readonly value: Cell;
  readonly unit: string;
  /** As a column's. */
  readonly kind: string;
  /** measured, derived, estimated or unknown. */
  readonly status: string;
  readonly label?: string;
  readonly doc?: string;
}

export interface Column {
  readonly id: string;
  readonly label: string;
  readonly unit: string;
  /** text, int, float, bytes, duration_ps, rate, share or flag; quantity or change where the row's cell `unit` names the unit. */
  readonly kind: string;
  readonly doc?: string;
}

export interface Table {
  readonly id: string;
  readonly title: string;
  readonly doc?: string;
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly Cell[])[];
}

export interface TreeNode {
  readonly label: string;
  /** A cell for each column of the tree. */
  readonly values: readonly Cell[];
  readonly children: readonly TreeNode[];
}

/** A whole, its parts, and theirs. */
export interface Tree {
  readonly id: string;
  readonly title: string;
  readonly columns: readonly Column[];
  readonly nodes: readonly TreeNode[];
}

export interface Axis {
  readonly label: string;
  readonly unit: string;
}

export type Point = readonly [number, number | null];

export interface Series {
  readonly id: string;
  readonly title: string;
  readonly x: Axis;
  readonly y: Axis;
  readonly points?: readonly Point[];
  readonly lines?: readonly { readonly id: string; readonly label: string; readonly points: readonly Point[] }[];
}

export interface Quality {
  readonly id: string;
  readonly severity: string;
  readonly message: string;
  readonly cost?: string | null;
  readonly cure?: string | null;
}

/** A place where evidence can be looked at: a question with a scope, a table of its answer, a row of that table. */
export interface Link {
  /** The analysis, or `timeline`. */
  readonly analysis: string;
  readonly params?: readonly (readonly [string, string])[];
  /** Empty for the report as a whole. */
  readonly table?: string;
  /** The text of the row's first cell. */
  readonly row?: string | null;
  /** None means all. */
  readonly devices?: readonly string[];
  readonly steps?: string | null;
  readonly window_ps?: readonly [number, number] | null;
}

export interface Finding {
  readonly id: string;
  readonly severity: string;
  readonly claim: string;
  readonly evidence?: string | null;
  readonly ceiling?: string | null;
  /** The ceiling as a number: the time now over the time without the cause. */
  readonly speedup?: number | null;
  readonly lever?: string | null;
  readonly falsifier?: string | null;
  readonly status?: string | null;
  readonly links?: readonly Link[];
}

export interface PeakUsed {
  readonly device_type: string;
  /** `flops` or `hbm`. */
  readonly resource: string;
  readonly rate: number;
  readonly unit: string;
  /** `trace`, `derived` or `table`. */
  readonly source: string;
}

export interface Provenance {
  readonly files?: readonly { readonly path: string; readonly bytes: number }[];
  readonly hosts?: readonly string[];
  readonly coverage?: unknown;
  readonly peaks?: readonly PeakUsed[];
}

export interface ScopeSummary {
  readonly hosts?: readonly string[];
  readonly devices?: readonly string[];
  readonly modules?: readonly string[];
  readonly steps?: string | null;
  readonly window_ps?: readonly [number, number] | null;
  readonly steady?: boolean;
  /** What the scope left out, in words. */
  readonly left_out?: readonly string[];
}

/** A text that stands for itself, such as a program as its compiler prints it. */
export interface ReportText {
  readonly id: string;
  readonly title: string;
  readonly text: string;
}

export interface Report {
  readonly analysis: string;
  readonly version: string | number;
  readonly scope: ScopeSummary;
  readonly provenance: Provenance;
  readonly quality: readonly Quality[];
  readonly values: Readonly<Record<string, Value>>;
  readonly tables: readonly Table[];
  readonly trees: readonly Tree[];
  readonly series: readonly Series[];
  readonly findings: readonly Finding[];
  readonly texts?: readonly ReportText[];
  /** Whether what was asked for holds; null where nothing was. */
  readonly passed?: boolean | null;
  /** The same with a third outcome: `passed`, `failed`, or `not_comparable` where nobody can tell. */
  readonly gate?: string | null;
}

/** The text of a source file, from `/api/source`. */
export interface SourceText {
  /** Below the folder that the server was given. */
  readonly path: string;
  readonly text: string;
}

/** What `/api/capture` is asked for. */
export interface CaptureAsked {
  /** `host:port` each. */
  readonly servers: readonly string[];
  readonly duration_ms: number;
  readonly delay_ms: number;
  readonly retries: number;
  /** `name=value` each: tracer levels and any other option of the profiler. */
  readonly options: readonly string[];
}

export interface CaptureServer {
  readonly server: string;
  /** connecting, retrying, waiting, profiling, receiving or received. */
  readonly state: string;
  readonly elapsed_ms: number;
  /** Null until some came. */
  readonly bytes: number | null;
  /** 1 for the first. */
  readonly attempt: number;
  /** Why it is asked again. */
  readonly why: string | null;
}

/** A capture under way, or what came of it. */
export interface Capture {
  readonly id: string;
  /** What its slowest server does, or writing, ending, done, failed or cancelled. */
  readonly state: string;
  readonly elapsed_ms: number;
  /** Until the common start; null where it is not known yet. */
  readonly starts_in_ms: number | null;
  readonly duration_ms: number;
  readonly delay_ms: number;
  readonly servers: readonly CaptureServer[];
  readonly session: string | null;
  readonly path: string | null;
  /** The id in the list of runs. */
  readonly run: string | null;
  readonly files: readonly { readonly name: string; readonly host: string; readonly server: string; readonly bytes: number }[];
  readonly remarks: readonly string[];
  readonly error: string | null;
  readonly hint: string | null;
}

export interface Captures {
  readonly available: boolean;
  /** Why nothing can be captured. */
  readonly why: string | null;
  /** The log folder that sessions are written to. */
  readonly folder: string | null;
  /** Whether any server may be asked; else those that `servers` name. */
  readonly any_server: boolean;
  readonly servers: readonly string[];
  readonly captures: readonly Capture[];
}
