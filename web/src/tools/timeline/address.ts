/** The timeline in the address bar: everything that a link should bring back. Pure. */

import { formatWindow, parseWindow } from "../../state/url";
import type { Viewport } from "../../widgets/timeline/viewport";
import type { Arrangement } from "../../widgets/timeline/layout";
import type { Colouring } from "../../widgets/timeline/model";
import type { Area } from "../../widgets/timeline/scene";

export type Params = Readonly<Record<string, string>>;

const NONE = "none";

function listOf(text: string | undefined): string[] {
  return (text ?? "")
    .split(",")
    .filter(Boolean)
    .map((part) => {
      try {
        return decodeURIComponent(part);
      } catch {
        return part;
      }
    });
}

function textOf(keys: Iterable<string>): string {
  return [...keys].map((key) => key.replaceAll("%", "%25").replaceAll(",", "%2C")).join(",");
}

/** `first`: what is closed when the address does not say. */
export function readArrangement(params: Params, first: readonly string[]): Arrangement {
  const closed = params["closed"];
  return {
    closed: new Set(closed === undefined ? first : closed === NONE ? [] : listOf(closed)),
    hidden: new Set(listOf(params["hide"])),
    pinned: listOf(params["pin"]),
    order: listOf(params["order"]),
    filter: params["tracks"] ?? "",
  };
}

export function writeArrangement(how: Arrangement, first: readonly string[]): Params {
  const now = textOf([...how.closed].sort());
  return {
    closed: now === textOf([...first].sort()) ? "" : now || NONE,
    hide: textOf([...how.hidden].sort()),
    pin: textOf(how.pinned),
    order: textOf(how.order),
    tracks: how.filter,
  };
}

export function readMarks(text: string | undefined): number[] {
  return listOf(text)
    .map(Number)
    .filter((mark) => Number.isFinite(mark));
}

export function writeMarks(marks: readonly number[]): string {
  return marks.map((mark) => String(Math.round(mark))).join(",");
}

/** `100..200`, or `100..200@1,2` for two tracks. */
export function readArea(text: string | undefined): Area | null {
  const [window = "", tracks] = (text ?? "").split("@");
  const range = parseWindow(window);
  if (range === null) return null;
  const ids = tracks === undefined ? null : tracks.split(",").map(Number).filter(Number.isInteger);
  return { start: range[0], end: range[1], tracks: ids };
}

export function writeArea(area: Area | null): string {
  if (area === null) return "";
  return formatWindow(area.start, area.end) + (area.tracks === null ? "" : `@${area.tracks.join(",")}`);
}

/** The whole run, where the timeline would open on a part of it. */
const ALL = "all";

/** Null where the address leaves it to the timeline where it opens. */
export function readView(text: string | undefined, bounds: Viewport): Viewport | null {
  if (text === ALL) return bounds;
  const range = parseWindow(text ?? "");
  return range === null ? null : { start: range[0], end: range[1] };
}

/** `home`: what the timeline opens on. */
export function writeView(view: Viewport, limits: Viewport, home: Viewport): string {
  if (view.start === home.start && view.end === home.end) return "";
  if (view.start > limits.start || view.end < limits.end) return formatWindow(view.start, view.end);
  // Two runs that are linked have more to show than the one; they open on the first one's bounds.
  return limits.start === home.start && limits.end === home.end ? "" : ALL;
}

const COLOURINGS: readonly Colouring[] = ["category", "module", "class", "name"];

export function readColouring(text: string | undefined): Colouring {
  return COLOURINGS.find((one) => one === text) ?? "category";
}

/** `12,345`: a track and an event in it. */
export function readEvent(text: string | undefined): { readonly track: number; readonly event: number } | null {
  const match = /^(\d+),(\d+)$/.exec(text ?? "");
  return match === null ? null : { track: Number(match[1]), event: Number(match[2]) };
}

/** More events that were picked together are not named in the address: links have an end. */
const MOST_EVENTS = 64;

/** `12,345;12,400`: events that were picked together. */
export function readEvents(text: string | undefined): readonly { readonly track: number; readonly event: number }[] {
  return (text ?? "")
    .split(";")
    .slice(0, MOST_EVENTS)
    .flatMap((one) => readEvent(one) ?? []);
}

/** Slices that several events share have no name of their own, and are left out. */
export function writeEvents(events: readonly { readonly track: number; readonly event: number }[]): string {
  return events
    .filter((one) => one.event >= 0)
    .slice(0, MOST_EVENTS)
    .map((one) => `${one.track},${one.event}`)
    .join(";");
}
