/** The one place that touches the browser's history. */

import { computed, signal } from "@preact/signals";

import type { Route, RouteChange } from "./url";
import { changeRoute, formatRoute, parseRoute } from "./url";

export const route = signal<Route>(parseRoute(location.search));

export const page = computed(() => route.value.page);
export const scope = computed(() => route.value.scope);
export const view = computed(() => route.value.view);

addEventListener("popstate", () => {
  route.value = parseRoute(location.search);
});

/** `replace` is for what changes by the keystroke (filters, zoom): it leaves no trail of steps back. */
export function go(change: RouteChange, how: "push" | "replace" = "push"): void {
  const next = changeRoute(route.value, change);
  const url = formatRoute(next);
  if (url === formatRoute(route.value)) return;
  if (how === "push") history.pushState(null, "", url);
  else history.replaceState(null, "", url);
  route.value = next;
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
  history.pushState(null, "", url);
  route.value = next;
}
