/** Answers of the server as signals: loading, failed or ready, with the last answer kept while a new one comes. */

import { useEffect, useState } from "preact/hooks";

import { apiUrl, getAnalyses, getReport, getRuns } from "../api/client";
import type { Analyses, Report, Runs } from "../api/types";
import { AGAIN_MS, isPartial, readingRun, takesParts } from "./reading";
import { route } from "./route";
import { runId, runs } from "./runs";
import { scopeParams } from "./url";

export interface Resource<T> {
  /** The newest answer; while `loading` it may be the previous question's. */
  readonly data: T | null;
  readonly loading: boolean;
  readonly error: unknown;
  readonly reload: () => void;
}

/** Reports are small; the last few are kept so that going back is instant. */
const KEPT = 24;
const cache = new Map<string, unknown>();

function remember(key: string, value: unknown): void {
  cache.delete(key);
  cache.set(key, value);
  for (const oldest of cache.keys()) {
    if (cache.size <= KEPT) break;
    cache.delete(oldest);
  }
}

/** Files have changed: what was answered about them is asked again when somebody goes there. */
export function forget(): void {
  for (const key of [...cache.keys()]) if (key.startsWith("/api/report/")) cache.delete(key);
}

interface Pending {
  readonly promise: Promise<unknown>;
  readonly abort: AbortController;
  users: number;
}

/** What is on its way: two parts of a page that ask the same wait for one answer. */
const pending = new Map<string, Pending>();

function join<T>(key: string, load: (signal: AbortSignal) => Promise<T>): Pending {
  const known = pending.get(key);
  if (known !== undefined) {
    known.users += 1;
    return known;
  }
  const abort = new AbortController();
  const promise = load(abort.signal).finally(() => {
    if (pending.get(key)?.abort === abort) pending.delete(key);
  });
  const own = { promise, abort, users: 1 };
  pending.set(key, own);
  return own;
}

/** Nobody waits any more: the question is taken back. */
function leave(key: string, own: Pending): void {
  own.users -= 1;
  if (own.users > 0) return;
  own.abort.abort();
  if (pending.get(key) === own) pending.delete(key);
}

interface Held {
  readonly key: string | null;
  readonly family: string;
  readonly data: unknown;
  readonly error: unknown;
}

const NOTHING: Held = { key: null, family: "", data: null, error: null };

/** Loads `key` by `load`; a null key asks nothing. `family` says which old answers may stand in while loading. */
export function useResource<T>(key: string | null, family: string, load: (signal: AbortSignal) => Promise<T>): Resource<T> {
  const [held, setHeld] = useState<Held>(NOTHING);
  const [attempt, setAttempt] = useState(0);

  useEffect(() => {
    if (key === null) return undefined;
    if (cache.has(key)) {
      setHeld({ key, family, data: cache.get(key), error: null });
      return undefined;
    }
    let gone = false;
    let again: ReturnType<typeof setTimeout> | undefined;
    const own = join(key, load);
    own.promise
      .then((data) => {
        if (gone) return;
        // An answer of some of the hosts is shown and asked for again until it is one of all.
        if (isPartial(data)) again = setTimeout(() => setAttempt((before) => before + 1), AGAIN_MS);
        else remember(key, data);
        setHeld({ key, family, data, error: null });
      })
      .catch((error: unknown) => {
        if (!gone) setHeld({ key, family, data: null, error });
      });
    return () => {
      gone = true;
      clearTimeout(again);
      leave(key, own);
    };
    // `load` is a fresh closure at each render; the key names what it loads.
  }, [key, attempt]);

  const reload = (): void => {
    if (key !== null) cache.delete(key);
    setHeld(NOTHING);
    setAttempt(attempt + 1);
  };
  if (key !== null && held.key === key) return { data: held.data as T | null, loading: false, error: held.error, reload };
  if (key !== null && cache.has(key)) return { data: cache.get(key) as T, loading: false, error: null, reload };
  return { data: held.family === family ? (held.data as T | null) : null, loading: true, error: null, reload };
}

export function useRuns(): Resource<Runs> {
  return useResource("/api/runs", "runs", getRuns);
}

export function useAnalyses(): Resource<Analyses> {
  return useResource("/api/analyses", "analyses", getAnalyses);
}

/** A report over the page's scope. `params` are the analysis' own, in a fixed order. */
export function useReport(analysis: string, params: readonly (readonly [string, string])[] = []): Resource<Report> {
  return useReportOf(runId.value, analysis, params);
}

/** The same of any run; of none nothing is asked. */
export function useReportOf(run: string | null, analysis: string, params: readonly (readonly [string, string])[] = []): Resource<Report> {
  const part = run !== null && takesParts(runs.value, run, route.value.scope.hosts) ? ([["partial", "yes"]] as const) : [];
  const url =
    run === null
      ? null
      : apiUrl(`report/${encodeURIComponent(analysis)}`, [["run", run], ...scopeParams(route.value.scope), ...params, ...part]);
  return useResource(url, `${analysis} ${run}`, async (signal) => {
    const report = await getReport(url ?? "", signal);
    if (run !== null && isPartial(report)) readingRun.value = run;
    return report;
  });
}

/** A report over the whole run, whatever the scope: what there is to choose from. Nothing is asked until `when`. */
export function useWholeReport(analysis: string, when = true): Resource<Report> {
  const run = runId.value;
  const url = run === null || !when ? null : apiUrl(`report/${encodeURIComponent(analysis)}`, [["run", run]]);
  return useResource(url, `whole ${analysis} ${run}`, (signal) => getReport(url ?? "", signal));
}
