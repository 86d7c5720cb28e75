/** Questions to analyses whose parameters may differ from version to version. */

import type { AnalysisInfo } from "../api/types";

/** The parameters among these that the analysis takes and that say something. */
export function taken(info: AnalysisInfo | undefined, params: Readonly<Record<string, string>>): [string, string][] {
  return (info?.params ?? []).flatMap((param): [string, string][] => {
    const value = params[param.id] ?? "";
    // Two analyses may know one thing by a word and by a number.
    const fits = value !== "" && (param.kind !== "count" || /^\d+$/.test(value));
    return fits ? [[param.id, value]] : [];
  });
}
