/** Where to look at both runs together, and at each. Pure. */

import type { AnalysisInfo } from "../../api/types";
import type { Way } from "./ops";

export function furtherOf(baseline: string, experiment: string, analyses: readonly AnalysisInfo[]): Way[] {
  const has = (id: string): boolean => analyses.some((info) => info.id === id);
  const both = (page: string, label: string): Way[] => [
    { label: `${label} of the baseline`, to: { run: baseline, page } },
    { label: `${label} of the experiment`, to: { run: experiment, page } },
  ];
  return [
    { label: "Timelines, one above the other", to: { page: "timeline", view: { with: experiment } } },
    ...(has("hlo-diff") ? [{ label: "Programs: differences", to: { page: "hlo", view: { tab: "diff", other: experiment } } }] : []),
    ...(has("diagnose") ? both("diagnose", "Diagnosis") : []),
    ...(has("memory-peak") ? both("memory", "Memory") : []),
  ];
}
