/** Runs of many hosts, of which answers come before all hosts have been read. */

import { signal } from "@preact/signals";

import type { Runs } from "../api/types";

/** The remark of a report of which not all hosts have been read. */
const REMARK = "hosts_being_read";
/** A run of more hosts is worth a partial answer; the server's own number. */
const MANY = 2;
/** Between two answers of a run that is being read. */
export const AGAIN_MS = 1500;

/** The run that answered in part last. */
export const readingRun = signal<string | null>(null);

/** Whether an answer is one of some of the hosts. */
export function isPartial(answer: unknown): boolean {
  if (typeof answer !== "object" || answer === null) return false;
  const quality: unknown = Reflect.get(answer, "quality");
  if (!Array.isArray(quality)) return false;
  return quality.some((note: unknown) => typeof note === "object" && note !== null && Reflect.get(note, "id") === REMARK);
}

/** Whether a question to a run may be answered from some of its hosts: not where hosts were chosen. */
export function takesParts(runs: Runs | null, run: string, hosts: string): boolean {
  const known = runs?.runs.find((one) => one.id === run);
  return known !== undefined && known.hosts.length > MANY && hosts === "";
}
