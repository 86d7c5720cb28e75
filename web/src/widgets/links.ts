/** A finding's links as ways through the page, and a finding as text to take along. Pure. */

import type { AnalysisInfo, Finding, Link } from "../api/types";
import { formatDuration, formatTick } from "../base/format";
import type { RouteChange, Scope } from "../state/url";
import { formatWindow } from "../state/url";
import { windowText } from "../base/window";

/** Seen on both sides of what is shown on the timeline, as a share of its length. */
const AROUND = 0.05;
const MOST_NAMES = 2;

/** The page of an analysis, whether it is named as in addresses or as on the command line. */
function pageOf(link: Link, analyses: readonly AnalysisInfo[]): string {
  const info = analyses.find((one) => one.id === link.analysis || one.name === link.analysis);
  return info?.id ?? link.analysis.replaceAll(" ", "-");
}

/** Where a link leads: what it does not narrow stays as it is. */
export function linkRoute(link: Link, analyses: readonly AnalysisInfo[]): RouteChange {
  const { devices = [], row = null, table = "", window_ps: window = null } = link;
  if (link.analysis === "timeline") {
    const view: Record<string, string> = Object.fromEntries(link.params ?? []);
    if (window !== null) {
      const around = (window[1] - window[0]) * AROUND;
      view["view"] = formatWindow(window[0] - around, window[1] + around);
    }
    if (row !== null) view["q"] = row;
    // The timeline shows every device: words of its filter keep one.
    if (devices.length === 1) view["tracks"] = devices[0] ?? "";
    return { page: "timeline", view };
  }
  const scope: Partial<Scope> = {
    ...(devices.length === 0 ? {} : { devices: devices.join(",") }),
    ...(link.steps === null || link.steps === undefined || link.steps === "" ? {} : { steps: link.steps }),
    ...(window === null ? {} : { window: windowText(window[0], window[1]) }),
  };
  const page = pageOf(link, analyses);
  const view: Record<string, string> = Object.fromEntries(link.params ?? []);
  if (table !== "") view["mark"] = `${table}:${row ?? ""}`;
  // The page of the ops opens the row that it selects.
  if (page === "ops" && row !== null) view["sel"] = row;
  return { page, scope, view };
}

function few(names: readonly string[]): string {
  return names.length <= MOST_NAMES ? names.join(", ") : `${names[0] ?? ""} and ${names.length - 1} more`;
}

function span([start, end]: readonly [number, number]): string {
  const [from, to] = [formatTick(start), formatTick(end)];
  // Two ends that are written alike say where, not how long.
  return from === to ? `${formatDuration(end - start, 3)} at ${formatDuration(start, 6)}` : `${from} to ${to}`;
}

/** What a link shows, from the widest to the narrowest: `hosts: devices: w-5`. */
export function linkWords(link: Link): string {
  const { devices = [], row = null, table = "", window_ps: window = null, steps = null } = link;
  const params = (link.params ?? []).map(([id, value]) => `${id.replaceAll("_", " ")} ${value}`);
  const head = [link.analysis.replaceAll("-", " "), ...(table === "" ? [] : [table.replaceAll("_", " ")])];
  const parts = [
    ...params,
    ...(row === null ? [] : [row]),
    ...(devices.length === 0 || devices.includes(row ?? "") ? [] : [few(devices)]),
    ...(steps === null || steps === "" ? [] : [/^\d+$/.test(steps) ? `step ${steps}` : `steps ${steps}`]),
    ...(window === null ? [] : [span(window)]),
  ];
  return [head.join(" › "), ...(parts.length === 0 ? [] : [parts.join(", ")])].join(": ");
}

/** A word of a command, quoted where a shell would read it otherwise. */
function quoted(word: string): string {
  return /^[\w./:,=%+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** The same question on the command line; null for the timeline, which has none. */
export function linkCommand(link: Link): string | null {
  if (link.analysis === "timeline") return null;
  const { devices = [], table = "", window_ps: window = null, steps = null } = link;
  return [
    `haloscope ${link.analysis} RUN`,
    ...(link.params ?? []).map(([id, value]) => `--${id.replaceAll("_", "-")} ${quoted(value)}`),
    ...(devices.length === 0 ? [] : [`--devices ${quoted(devices.join(","))}`]),
    ...(steps === null || steps === "" ? [] : [`--steps ${quoted(steps)}`]),
    ...(window === null ? [] : [`--window ${windowText(window[0], window[1])}`]),
    ...(table === "" ? [] : [`--table ${quoted(table)}`]),
  ].join(" ");
}

/** Where to look without a page: the command, and the row that it is about. */
export function linkText(link: Link): string {
  const command = linkCommand(link);
  if (command === null) return linkWords(link);
  return (link.row ?? "") === "" ? command : `${command} (${link.row ?? ""})`;
}

/** The share of the time that would go, from the time now over the time without the cause. */
export function savedShare(speedup: number | null | undefined): number | null {
  return speedup === null || speedup === undefined || !Number.isFinite(speedup) || speedup <= 0 ? null : 1 - 1 / speedup;
}

/** `1.29×`; a speedup of hundreds is no measurement, so it is not written as one. */
export function speedupText(speedup: number): string {
  return speedup >= 100 ? ">100×" : `${speedup >= 10 ? speedup.toFixed(1) : speedup.toFixed(2)}×`;
}

export const PARTS = ["evidence", "ceiling", "lever", "falsifier"] as const;
export const PART_NAMES = { evidence: "Evidence", ceiling: "Gain at most", lever: "What to do", falsifier: "Wrong if" } as const;

/** The whole finding as plain lines, for a message or an issue. */
export function findingText(finding: Finding): string {
  const parts = PARTS.flatMap((key) => ((finding[key] ?? "") === "" ? [] : [`${PART_NAMES[key]}: ${finding[key] ?? ""}`]));
  const links = (finding.links ?? []).map(linkText);
  return [finding.claim, ...parts, `Known by: ${finding.status}`, ...links.map((link) => `See: ${link}`)].join("\n");
}
