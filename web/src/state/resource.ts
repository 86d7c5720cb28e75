/** Answers of the server as signals: loading, failed or ready, with the last answer kept while a new one comes. */

import { useEffect, useState } from "preact/hooks";

import { apiUrl, getAnalyses, getReport, getRuns } from "../api/client";
import type { Analyses, Report, Runs } from "../api/types";
import { route } from "./route";
import { runId } from "./runs";
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
    const abort = new AbortController();
    load(abort.signal)
      .then((data) => {
        if (abort.signal.aborted) return;
        remember(key, data);
        setHeld({ key, family, data, error: null });
      })
      .catch((error: unknown) => {
        if (!abort.signal.aborted) setHeld({ key, family, data: null, error });
      });
    return () => abort.abort();
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
  const run = runId.value;
  const url =
    run === null ? null : apiUrl(`report/${encodeURIComponent(analysis)}`, [["run", run], ...scopeParams(route.value.scope), ...params]);
  return useResource(url, `${analysis} ${run}`, (signal) => getReport(url ?? "", signal));
}
