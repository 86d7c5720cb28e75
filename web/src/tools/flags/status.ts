/** What a flag's status means. Pure. */

import type { ToneName } from "../../widgets/tone";

/** `not known here` says nothing of the flag: it is not wrong for that. */
export function statusTone(word: string): ToneName {
  if (word === "known") return "good";
  if (/not known|nobody/.test(word)) return "unknown";
  return /renamed|retired|deprecated/.test(word) ? "warn" : word === "unknown" ? "bad" : "plain";
}

/** `yes`, or what takes the effect away. */
export function effectTone(word: string): ToneName {
  return word === "yes" ? "good" : word === "unknown" ? "unknown" : "warn";
}
