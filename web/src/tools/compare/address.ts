/** Which runs are held against each other, in the address. Pure. */

import type { RouteChange } from "../../state/url";

/** The runs that the baseline is held against, in their order, each once. */
export function experimentsOf(text: string | undefined): string[] {
  return [...new Set((text ?? "").split(",").map((id) => id.trim()))].filter((id) => id !== "");
}

/** What belongs to one pair of runs: another pair begins without. */
const OF_A_PAIR = { pick: "", kind: "", sel: "", mark: "", force: "" };

/** Another set of experiments. */
export function withExperiments(ids: readonly string[]): RouteChange {
  return { view: { ...OF_A_PAIR, other: ids.join(",") } };
}

/** The first experiment: an op that led here stays chosen. */
export function firstExperiment(id: string): RouteChange {
  return { view: { other: id } };
}

/** One experiment more, or without it. */
export function toggled(now: readonly string[], id: string): RouteChange {
  return withExperiments(now.includes(id) ? now.filter((one) => one !== id) : [...now, id]);
}

/** Another baseline; it is no experiment of its own. */
export function withBaseline(id: string, experiments: readonly string[], old: string): RouteChange {
  const others = experiments.filter((one) => one !== id);
  return { run: id, view: { other: (others.length === 0 && experiments.length > 0 ? [old] : others).join(",") } };
}

/** The experiment whose details are shown: `pick` counts from 1. */
export function pickedOf(experiments: readonly string[], pick: string | undefined): number {
  const at = Number(pick ?? "1") - 1;
  return Number.isInteger(at) && at >= 0 && at < experiments.length ? at : 0;
}
