/** What a flag's status means. Pure. */

import type { ToneName } from "../../widgets/tone";

/** `not known here` says nothing of the flag: it is not wrong for that. */
const TONES: Readonly<Record<string, ToneName>> = {
  known: "good",
  renamed: "warn",
  retired: "warn",
  unknown: "bad",
  "not known here": "unknown",
};

export function statusTone(word: string): ToneName {
  return TONES[word] ?? "plain";
}

/** `yes`, or what takes the effect away. */
export function effectTone(word: string): ToneName {
  return word === "yes" ? "good" : word === "unknown" ? "unknown" : "warn";
}
