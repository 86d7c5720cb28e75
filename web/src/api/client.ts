/** The one door to the server. */

import { withAnchors } from "./anchors";
import { placed } from "./place";
import type {
  Analyses,
  Capture,
  CaptureAsked,
  Captures,
  Progress,
  Report,
  Runs,
  SourceState,
  SourceText,
  SqlAbout,
  SqlAnswer,
  SqlAsked,
} from "./types";

/** Why there is no answer. `nothing`: the profile was read and holds nothing that the question is about; `writing`:
 * its files are not complete yet; `offline`: the server was not reached; `other`: it did not say. */
export type Refusal = "usage" | "unknown" | "unreadable" | "writing" | "nothing" | "bug" | "offline" | "other";

const REFUSALS: readonly string[] = ["usage", "unknown", "unreadable", "writing", "nothing", "bug"];

/** What went wrong, in the server's words where it said something. */
export class ApiError extends Error {
  constructor(
    message: string,
    readonly hint: string,
    readonly kind: Refusal,
  ) {
    super(message);
    this.name = "ApiError";
  }
}

export type Query = Iterable<readonly [string, string]>;

export function apiUrl(path: string, query: Query): string {
  const params = new URLSearchParams();
  for (const [key, value] of query) {
    if (value !== "") params.set(key, value);
  }
  const text = params.toString().replaceAll("%2C", ",");
  return text === "" ? `/api/${path}` : `/api/${path}?${text}`;
}

function textField(body: unknown, key: string): string {
  if (typeof body !== "object" || body === null) return "";
  const value: unknown = Reflect.get(body, key);
  return typeof value === "string" ? value : "";
}

interface Sent {
  readonly method: "POST" | "DELETE";
  readonly body?: unknown;
  /** Sent as it is, in place of a body. */
  readonly file?: Blob;
}

async function request(url: string, accept: string, signal?: AbortSignal, sent?: Sent): Promise<Response> {
  const headers: Record<string, string> = { Accept: accept };
  if (sent?.body !== undefined) headers["Content-Type"] = "application/json";
  if (sent?.file !== undefined) headers["Content-Type"] = "application/octet-stream";
  const body = sent?.file ?? (sent?.body === undefined ? undefined : JSON.stringify(sent.body));
  const how: RequestInit = sent === undefined ? {} : { method: sent.method, ...(body === undefined ? {} : { body }) };
  let response: Response;
  try {
    response = await fetch(placed(url), { ...how, headers, ...(signal ? { signal } : {}) });
  } catch (cause) {
    if (signal?.aborted === true) throw cause;
    throw new ApiError(
      "The server does not answer",
      "Is `haloscope serve` still running? Start it again, then reload this page.",
      "offline",
    );
  }
  if (!response.ok) {
    const body: unknown = await response.json().catch(() => null);
    const kind = textField(body, "kind");
    throw new ApiError(
      textField(body, "error") || `The server answered ${response.status}`,
      textField(body, "hint"),
      REFUSALS.includes(kind) ? (kind as Refusal) : "other",
    );
  }
  return response;
}

export async function getJson<T>(url: string, signal?: AbortSignal): Promise<T> {
  const response = await request(url, "application/json", signal);
  return (await response.json()) as T;
}

export async function getBytes(url: string, signal?: AbortSignal): Promise<ArrayBuffer> {
  const response = await request(url, "application/octet-stream", signal);
  return response.arrayBuffer();
}

export function getRuns(signal?: AbortSignal): Promise<Runs> {
  return getJson("/api/runs", signal);
}

/** The runs, unless the listing is still the one that is known. */
export async function getRunsUnless(known: string): Promise<Runs | null> {
  const response = await request(apiUrl("runs", [["known", known]]), "application/json");
  return response.status === 204 ? null : ((await response.json()) as Runs);
}

export function getAnalyses(signal?: AbortSignal): Promise<Analyses> {
  return getJson("/api/analyses", signal);
}

export async function getReport(url: string, signal?: AbortSignal): Promise<Report> {
  return withAnchors(await getJson<Report>(url, signal));
}

/** A report of the whole run; `null`, and no error in the browser's console, where the run holds nothing of it. */
export async function getReportOrNothing(analysis: string, run: string, signal?: AbortSignal): Promise<Report | null> {
  const query = [
    ["run", run],
    ["nothing", "204"],
  ] as const;
  const response = await request(apiUrl(`report/${analysis}`, query), "application/json", signal);
  return response.status === 204 ? null : withAnchors((await response.json()) as Report);
}

export function getProgress(run: string, signal?: AbortSignal): Promise<Progress> {
  return getJson(apiUrl("progress", [["run", run]]), signal);
}

export function getSource(path: string, signal?: AbortSignal): Promise<SourceText> {
  return getJson(apiUrl("source", [["path", path]]), signal);
}

/** Whether the server was given a folder of sources. */
export function getSourceState(signal?: AbortSignal): Promise<SourceState> {
  return getJson(apiUrl("source", []), signal);
}

async function send<T>(url: string, sent: Sent): Promise<T> {
  const response = await request(url, "application/json", undefined, sent);
  return (await response.json()) as T;
}

/** Makes a run of a file of whoever looks at the page; it is in the server's memory until that ends. */
export function openFile(file: File): Promise<{ readonly run: string }> {
  return send(apiUrl("open", [["name", file.name]]), { method: "POST", file });
}

/** What SQL can ask. */
export function getSqlAbout(signal?: AbortSignal): Promise<SqlAbout> {
  return getJson("/api/query", signal);
}

/** The rows of a statement. */
export async function askSql(asked: SqlAsked, signal?: AbortSignal): Promise<SqlAnswer> {
  const response = await request("/api/query", "application/json", signal, { method: "POST", body: asked });
  return (await response.json()) as SqlAnswer;
}

/** Whether something can be captured, of which servers, and the captures so far, the newest first. */
export function getCaptures(signal?: AbortSignal): Promise<Captures> {
  return getJson("/api/capture", signal);
}

export function startCapture(asked: CaptureAsked): Promise<Capture> {
  return send("/api/capture", { method: "POST", body: asked });
}

export function getCapture(id: string): Promise<Capture> {
  return getJson(`/api/capture/${encodeURIComponent(id)}`);
}

export function endCapture(id: string): Promise<Capture> {
  return send(`/api/capture/${encodeURIComponent(id)}`, { method: "DELETE" });
}
