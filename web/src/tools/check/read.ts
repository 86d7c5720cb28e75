/** What a gate says, in words. Pure. */

import { columnIndex, textAt } from "../../api/read";
import type { Report, Table } from "../../api/types";
import type { ToneName } from "../../widgets/tone";

export type Outcome = "passed" | "failed" | "not comparable" | "nothing asked";

/** The outcome: what the exit code of a command line would be. */
export function outcomeOf(report: Report): Outcome {
  if (report.gate === "not_comparable") return "not comparable";
  if (report.gate === "passed" || report.gate === "failed") return report.gate;
  return report.passed === true ? "passed" : report.passed === false ? "failed" : "nothing asked";
}

export const OUTCOMES: Readonly<Record<Outcome, { readonly tone: ToneName; readonly words: string; readonly exit: string }>> = {
  passed: { tone: "good", words: "All checks hold.", exit: "exit code 0" },
  failed: { tone: "bad", words: "A check does not hold, or could not be decided.", exit: "exit code 1" },
  "not comparable": {
    tone: "warn",
    words: "Not comparable: the run and its baseline differ in something that the step time depends on.",
    exit: "exit code 5",
  },
  "nothing asked": { tone: "none", words: "No checks yet: choose a baseline, or give budgets.", exit: "exit code 0" },
};

/** Why a gate is shut, by the report's own verdict. */
const WHY: Readonly<Record<string, string>> = {
  regressed: "The run is worse than its baseline.",
  failed: "A check does not hold.",
  unknown: "Some checks could not be decided, and unknown does not pass.",
};

/** The outcome in a sentence. */
export function wordsOf(report: Report): string {
  const outcome = outcomeOf(report);
  const verdict = report.values["verdict"]?.value;
  return (outcome === "failed" && typeof verdict === "string" ? WHY[verdict] : undefined) ?? OUTCOMES[outcome].words;
}

/** A row's verdict: what is unknown does not pass, and is told apart from what fails. */
export function rowTone(word: string): ToneName {
  return TONES[word] ?? "plain";
}

const TONES: Readonly<Record<string, ToneName>> = { pass: "good", fail: "bad", unknown: "unknown" };

/** How many rows have which verdict, in the order in which they matter: `2 fail, 1 unknown, 3 pass`. */
export function counts(tables: readonly (Table | null)[]): string {
  const found = new Map<string, number>();
  for (const table of tables) {
    const at = table === null ? -1 : columnIndex(table, "verdict");
    for (const row of table?.rows ?? []) {
      const word = textAt(row, at);
      if (word !== null) found.set(word, (found.get(word) ?? 0) + 1);
    }
  }
  const weight: readonly ToneName[] = ["bad", "unknown", "warn", "plain", "none", "good"];
  return [...found]
    .sort(([a], [b]) => weight.indexOf(rowTone(a)) - weight.indexOf(rowTone(b)) || (a < b ? -1 : 1))
    .map(([word, count]) => `${count} ${word}`)
    .join(", ");
}
