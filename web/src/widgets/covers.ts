/** What a report is about, in words. Pure. */

import type { Report } from "../api/types";
import { formatDuration } from "../base/format";

const MOST_NAMES = 3;

function counted(count: number, name: string): string {
  return `${count} ${name}${count === 1 ? "" : "s"}`;
}

/** `all 4 devices`, or which of them. */
function part(names: readonly string[], all: number, name: string): string[] {
  if (names.length === 0) return [];
  if (names.length >= all) return [all === 1 ? `${name} ${names[0] ?? ""}` : all === 2 ? `both ${name}s` : `all ${counted(all, name)}`];
  const which = names.length <= MOST_NAMES ? `: ${names.join(", ")}` : "";
  return [`${names.length} of ${counted(all, name)}${which}`];
}

function devicesInProfile(report: Report): number {
  const { coverage } = report.provenance;
  const known: unknown = typeof coverage === "object" && coverage !== null ? Reflect.get(coverage, "devices_in_profile") : null;
  return typeof known === "number" ? known : (report.scope.devices ?? []).length;
}

/** From the widest to the narrowest: hosts, devices, programs, steps, time. */
export function covers(report: Report): string[] {
  const { hosts = [], devices = [], modules = [], steps, window_ps: window, steady } = report.scope;
  const time = window === null || window === undefined ? [] : [`from ${formatDuration(window[0], 6)} to ${formatDuration(window[1], 6)}`];
  const chosen = [
    ...(modules.length === 0 ? [] : [`programs named ${modules.join(", ")}`]),
    ...(steps === null || steps === undefined || steps === "" ? [] : [`steps ${steps}`]),
    ...(steady === true ? ["the steady state"] : []),
    ...time,
  ];
  return [
    ...part(hosts, (report.provenance.hosts ?? hosts).length, "host"),
    ...part(devices, devicesInProfile(report), "device"),
    ...(chosen.length === 0 ? ["all steps and the time between them"] : chosen),
  ];
}
