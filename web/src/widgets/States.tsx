/** Loading, failed and empty, shown where the answer would have been. */

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";

import { ApiError } from "../api/client";
import { formatBytes } from "../base/format";
import type { Resource } from "../state/resource";
import { useAnalyses, useWholeReport } from "../state/resource";
import { go, hrefOf, page, scope } from "../state/route";
import { currentRun } from "../state/runs";
import { NO_SCOPE, isScoped } from "../state/url";
import { Words } from "./Words";

/** The same question gets the same refusal; only what may have passed is worth asking again. */
const FINAL: readonly unknown[] = ["usage", "unknown", "nothing"];

/** The profile was read, and holds nothing that this page is about: no fault, so no alarm. */
function Nothing({ error }: { readonly error: ApiError }) {
  const scoped = isScoped(scope.value);
  return (
    <div class="notice calm" role="status">
      <p class="notice-title">Nothing to show here</p>
      <p class="reason">
        <Words text={error.message} />
      </p>
      {error.hint !== "" && (
        <p class="sub">
          <Words text={error.hint} />
        </p>
      )}
      <p class="sub">
        <a href={hrefOf({ page: "inspect" })} data-nav="inspect">
          What is in the profile
        </a>
      </p>
      {scoped ? (
        <button type="button" onClick={() => go({ scope: NO_SCOPE })}>
          Clear the scope
        </button>
      ) : (
        <Cures />
      )}
    </div>
  );
}

/** A profile that is not complete yet is asked for again, as often as the server looks at it. */
function Writing({ error, reload }: { readonly error: ApiError; readonly reload: (() => void) | undefined }) {
  useEffect(() => {
    if (reload === undefined) return undefined;
    const timer = setTimeout(reload, 2 * PATIENCE_MS);
    return () => clearTimeout(timer);
  });
  return (
    <div class="notice calm" role="status">
      <p class="notice-title">This run is still being written</p>
      <p class="reason">
        <Words text={error.message} />
      </p>
      {reload !== undefined && <p class="sub">The page asks again until it is complete.</p>}
    </div>
  );
}

export function ErrorBox({ error, reload }: { readonly error: unknown; readonly reload?: () => void }) {
  if (error instanceof ApiError && error.kind === "nothing") return <Nothing error={error} />;
  if (error instanceof ApiError && error.kind === "writing") return <Writing error={error} reload={reload} />;
  const message = error instanceof Error ? error.message : String(error);
  const passing = !(error instanceof ApiError) || !FINAL.includes(error.kind);
  const hint = error instanceof ApiError ? error.hint : "";
  return (
    <div class="notice error" role="alert">
      <p class="notice-title">
        <Words text={message} />
      </p>
      {hint !== "" && (
        <p>
          <Words text={hint} />
        </p>
      )}
      {reload !== undefined && passing && (
        <button type="button" onClick={reload}>
          Try again
        </button>
      )}
    </div>
  );
}

/** After this long a reader wants to know what takes so long. */
const PATIENCE_MS = 1000;

/** What is being read. The server does not say how far it is; what it reads and for how long already is known here. */
export function Loading({ what }: { readonly what: string }) {
  const [seconds, setSeconds] = useState(0);
  useEffect(() => {
    const begun = Date.now();
    const timer = setInterval(() => setSeconds(Math.floor((Date.now() - begun) / 1000)), PATIENCE_MS);
    return () => clearInterval(timer);
  }, [what]);
  const run = currentRun.value;
  return (
    <div class="loading">
      <span class="loading-bar" aria-hidden="true" />
      <span role="status">{`Reading ${what}…`}</span>
      {seconds > 0 && (
        <p class="sub">
          {run === null
            ? `${seconds} s`
            : `${seconds} s, in ${formatBytes(run.size_bytes, 3)} of ${run.hosts.length === 1 ? "one host" : `${run.hosts.length} hosts`}: ${run.path}. The first question about a run reads its files; the next ones are fast.`}
        </p>
      )}
    </div>
  );
}

/** What would fill a page that has nothing to show: what its analysis needs, and what the profile is known to lack. */
function Cures() {
  const analyses = useAnalyses();
  const inspect = useWholeReport("inspect");
  const needs = analyses.data?.analyses.find((one) => one.id === page.value)?.needs ?? [];
  const cures = (inspect.data?.quality ?? []).filter((note) => (note.cure ?? "") !== "");
  if (needs.length === 0 && cures.length === 0) return null;
  return (
    <>
      {needs.length > 0 && (
        <>
          <p class="sub">What this page needs in a profile:</p>
          <ul class="cures">
            {needs.map((need) => (
              <li>
                <Words text={need} />
              </li>
            ))}
          </ul>
        </>
      )}
      {cures.length > 0 && (
        <>
          <p class="sub">What is missing in this profile, and how to capture it:</p>
          <ul class="cures">
            {cures.map((note) => (
              <li>
                <Words text={`${note.message}: ${note.cure ?? ""}`} />
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}

export function Empty({ children }: { readonly children: ComponentChildren }) {
  return <p class="empty">{children}</p>;
}

/** A part of a page without its data: the reason, and what a capture needs to fill it. */
export function Lacking({ children }: { readonly children: ComponentChildren }) {
  const scoped = isScoped(scope.value);
  return (
    <div class="notice calm">
      <p class="reason">{children}</p>
      {scoped ? (
        <button type="button" onClick={() => go({ scope: NO_SCOPE })}>
          Clear the scope
        </button>
      ) : (
        <Cures />
      )}
    </div>
  );
}

export interface LoadedProps<T> {
  readonly from: Resource<T>;
  readonly what: string;
  readonly children: (data: T) => ComponentChildren;
  /** A part of a page: what it lacks is said quietly, because the page itself has answered. */
  readonly aside?: boolean;
}

/** An old answer stays on the screen, dimmed, while the new one is on its way. */
export function Loaded<T>({ from, what, children, aside = false }: LoadedProps<T>) {
  if (aside && from.error instanceof Error) return <Empty>{from.error.message}</Empty>;
  if (from.error !== null) return <ErrorBox error={from.error} reload={from.reload} />;
  if (from.data === null) return <Loading what={what} />;
  return (
    <div class={from.loading ? "loaded stale" : "loaded"} aria-busy={from.loading}>
      {children(from.data)}
    </div>
  );
}
