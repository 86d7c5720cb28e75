/** What a verdict's word means for the reader, so that it gets a colour and a sign. Pure. */

export type ToneName = "good" | "warn" | "bad" | "unknown" | "none" | "plain";

/** Signs beside the word: nobody has to tell colours apart. */
export const SIGNS: Readonly<Record<ToneName, string>> = { good: "✓", warn: "!", bad: "✗", unknown: "?", none: "–", plain: "•" };

/** The words of the contract: each verdict that a column or a value of the shared tables may hold. */
const WORDS: Readonly<Record<string, ToneName>> = {
  good: "good",
  "worth a look": "warn",
  bad: "bad",
  stated: "plain",
  clear: "good",
  found: "bad",
  "does not apply": "none",
  unknown: "unknown",
  "input-bound": "bad",
  "moderately input-bound": "warn",
  "not input-bound": "good",
};

export function toneOf(word: string | null): ToneName {
  return word === null || word === "" ? "unknown" : (WORDS[word] ?? "plain");
}
