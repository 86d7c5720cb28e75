/** Which run the page is about. The shell fills this once the list of runs has come. */

import { computed, signal } from "@preact/signals";

import type { Runs } from "../api/types";
import { route } from "./route";

export const runs = signal<Runs | null>(null);

/** Null until known. An id in the URL counts at once: the report does not wait for the list. */
export const runId = computed<string | null>(() => {
  const asked = route.value.run;
  if (asked !== "") return asked;
  return runs.value?.default ?? runs.value?.runs.find((run) => run.dropped !== true)?.id ?? null;
});

export const currentRun = computed(() => runs.value?.runs.find((run) => run.id === runId.value) ?? null);
