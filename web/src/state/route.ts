/** The one place that touches the browser's history. */

import { computed, signal } from "@preact/signals";

import type { Route, RouteChange } from "./url";
import { changeRoute, formatRoute, parseRoute } from "./url";

export const route = signal<Route>(parseRoute(location.search));

export const page = computed(() => route.value.page);
export const scope = computed(() => route.value.scope);
export const view = computed(() => route.value.view);

/** Grows with each step that the browser goes back or forward: who keeps more than the address looks at it again. */
export const wentTo = signal(0);

/** The address that an entry gets once the browser is back on it; null while none is waited for. */
let unwinding: string | null = null;

addEventListener("popstate", () => {
  if (unwinding !== null) {
    history.replaceState(history.state, "", unwinding);
    unwinding = null;
    return;
  }
  route.value = parseRoute(location.search);
  wentTo.value += 1;
});

/** `replace` is for what changes by the keystroke (filters, zoom): it leaves no trail of steps back. */
export function go(change: RouteChange, how: "push" | "replace" = "push"): void {
  const next = changeRoute(route.value, change);
  const url = formatRoute(next);
  if (url === formatRoute(route.value)) return;
  if (unwinding !== null) unwinding = url;
  else if (how === "push") history.pushState(null, "", url);
  else history.replaceState(history.state, "", url);
  route.value = next;
}

/** What an entry of the browser's history carries that a selection made. */
const SELECTED = "selected";

/** A change of what is selected on a page. The first selection is a step that Back takes back, so that Back lets go of what is
 * selected before it leaves the page; from one selection to another there is none, and letting go takes that step back. */
export function goSelected(change: RouteChange, before: boolean, after: boolean): void {
  const next = changeRoute(route.value, change);
  const url = formatRoute(next);
  const made = history.state === SELECTED;
  // Not all that is selected is named in the address: letting go of it takes its step back all the same.
  const unwinds = !after && made && unwinding === null;
  if (url === formatRoute(route.value) && !unwinds) return;
  if (unwinding !== null) unwinding = url;
  else if (after && !before && !made) history.pushState(SELECTED, "", url);
  else if (unwinds) {
    unwinding = url;
    history.back();
  } else history.replaceState(history.state, "", url);
  route.value = next;
}

/** The row that `view` names by `key` on a page. */
export function select(key: string, name: string): void {
  goSelected({ view: { [key]: name } }, (route.value.view[key] ?? "") !== "", name !== "");
}

/** The address a link to that change has, so that it can be opened in a new tab. */
export function hrefOf(change: RouteChange): string {
  return formatRoute(changeRoute(route.value, change));
}

/** Goes where a link of ours leads, without loading the page again. */
export function follow(href: string): void {
  const next = parseRoute(new URL(href, location.href).search);
  const url = formatRoute(next);
  if (url === formatRoute(route.value)) return;
  if (unwinding !== null) unwinding = url;
  else history.pushState(null, "", url);
  route.value = next;
}
