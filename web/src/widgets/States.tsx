/** Loading, failed and empty, shown where the answer would have been. */

import type { ComponentChildren } from "preact";

import { ApiError } from "../api/client";
import type { Resource } from "../state/resource";
import { go, hrefOf, scope } from "../state/route";
import { NO_SCOPE, isScoped } from "../state/url";
import { Words } from "./Words";

/** The same question gets the same refusal; only what may have passed is worth asking again. */
const FINAL: readonly unknown[] = ["usage", "unknown", "nothing"];

/** The profile was read, and holds nothing that this page is about: no fault, so no alarm. */
function Nothing({ error }: { readonly error: ApiError }) {
  const scoped = isScoped(scope.value);
  // The reason often names the way on itself.
  const hint = scoped || !error.message.includes("`inspect`") ? error.hint : "";
  return (
    <div class="notice calm" role="status">
      <p class="notice-title">Nothing to show here</p>
      <p class="reason">
        <Words text={error.message} />
      </p>
      <p class="sub">
        {hint !== "" ? (
          <Words text={hint} />
        ) : (
          <a href={hrefOf({ page: "inspect" })} data-nav="inspect">
            What the profile holds
          </a>
        )}
      </p>
      {scoped && (
        <button type="button" onClick={() => go({ scope: NO_SCOPE })}>
          Clear the scope
        </button>
      )}
    </div>
  );
}

export function ErrorBox({ error, reload }: { readonly error: unknown; readonly reload?: () => void }) {
  if (error instanceof ApiError && error.kind === "nothing") return <Nothing error={error} />;
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

export function Loading({ what }: { readonly what: string }) {
  return (
    <div class="loading" role="status">
      <span class="loading-bar" aria-hidden="true" />
      {`Reading ${what}…`}
    </div>
  );
}

export function Empty({ children }: { readonly children: ComponentChildren }) {
  return <p class="empty">{children}</p>;
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
