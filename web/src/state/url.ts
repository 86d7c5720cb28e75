/** The URL is the state: what the page shows is a pure function of the query string. */

import { parseWindowText } from "../base/window";

export interface Scope {
  /** Comma separated, as the server takes them; empty means all. */
  readonly hosts: string;
  readonly devices: string;
  readonly modules: string;
  /** `2-5,9`. */
  readonly steps: string;
  /** `START..END` in picoseconds since the start of the run. */
  readonly window: string;
  readonly steady: boolean;
}

export interface Route {
  readonly page: string;
  /** Empty means the server's default run. */
  readonly run: string;
  readonly scope: Scope;
  /** In a frame of another page: without the bar at the top and the menu. */
  readonly embed: boolean;
  /** What belongs to the page alone: by, sort, q, sel, view. Dropped when the page changes. */
  readonly view: Readonly<Record<string, string>>;
}

export const NO_SCOPE: Scope = { hosts: "", devices: "", modules: "", steps: "", window: "", steady: false };

const SCOPE_TEXT = ["hosts", "devices", "modules", "steps", "window"] as const;
/** A token is the server's to take out of the address; what it left there was wrong, and goes into no link. */
const SHARED = new Set<string>(["page", "run", "steady", "token", "embed", ...SCOPE_TEXT]);

export const FIRST_PAGE = "overview";

export function parseRoute(search: string): Route {
  const query = new URLSearchParams(search);
  const text = (key: string): string => query.get(key) ?? "";
  const view: Record<string, string> = {};
  for (const [key, value] of query) {
    if (!SHARED.has(key) && value !== "") view[key] = value;
  }
  return {
    page: text("page") || FIRST_PAGE,
    run: text("run"),
    embed: query.has("embed"),
    scope: {
      hosts: text("hosts"),
      devices: text("devices"),
      modules: text("modules"),
      steps: text("steps"),
      window: text("window"),
      steady: text("steady") === "1",
    },
    view,
  };
}

/** Keeps what people read (commas, dots, slashes) readable in the address bar. */
function encode(value: string): string {
  return encodeURIComponent(value).replace(/%(2C|2F|3A|40|20)/g, (code) => (code === "%20" ? "+" : decodeURIComponent(code)));
}

export function formatRoute(route: Route): string {
  const parts: [string, string][] = [
    ["run", route.run],
    ["page", route.page === FIRST_PAGE ? "" : route.page],
    ...scopeParams(route.scope),
    ["embed", route.embed ? "1" : ""],
    ...Object.keys(route.view)
      .sort()
      .map((key): [string, string] => [key, route.view[key] ?? ""]),
  ];
  const query = parts
    .filter(([, value]) => value !== "")
    .map(([key, value]) => `${key}=${encode(value)}`)
    .join("&");
  return query === "" ? "?" : `?${query}`;
}

export function scopeParams(scope: Scope): [string, string][] {
  const parts: [string, string][] = SCOPE_TEXT.map((key) => [key, scope[key]]);
  parts.push(["steady", scope.steady ? "1" : ""]);
  return parts.filter(([, value]) => value !== "");
}

export function isScoped(scope: Scope): boolean {
  return scopeParams(scope).length > 0;
}

export interface RouteChange {
  readonly page?: string;
  readonly run?: string;
  readonly scope?: Partial<Scope>;
  /** An empty text removes the key. */
  readonly view?: Readonly<Record<string, string>>;
}

/** A new run starts without a scope (its hosts and steps are others); a new page without a view. */
export function changeRoute(route: Route, change: RouteChange): Route {
  const run = change.run ?? route.run;
  const page = change.page ?? route.page;
  const newRun = run !== route.run;
  const keptView = newRun || page !== route.page ? {} : route.view;
  const view = Object.fromEntries(Object.entries({ ...keptView, ...change.view }).filter(([, value]) => value !== ""));
  return { page, run, embed: route.embed, scope: { ...(newRun ? NO_SCOPE : route.scope), ...change.scope }, view };
}

/** Picoseconds of a scope's window, however it is written. */
export function parseWindow(text: string): readonly [number, number] | null {
  return parseWindowText(text);
}

export function formatWindow(start: number, end: number): string {
  return `${Math.max(0, Math.floor(start))}..${Math.ceil(end)}`;
}
