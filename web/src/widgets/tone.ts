/** What a verdict's word means for the reader, so that it gets a colour and a sign. Pure. */

export type ToneName = "good" | "warn" | "bad" | "unknown" | "none" | "plain";

/** Signs beside the word: nobody has to tell colours apart. */
export const SIGNS: Readonly<Record<ToneName, string>> = { good: "✓", warn: "!", bad: "✗", unknown: "?", none: "–", plain: "•" };

/** The first that matches; what says that nothing is known or asked goes before the words inside of it. */
const WORDS: readonly (readonly [RegExp, ToneName])[] = [
  [/unknown|cannot|not known|not recorded|nobody/, "unknown"],
  [/not apply|not applicable|no question|skipped/, "none"],
  [/^(not|no|nothing|none)\b|^not /, "good"],
  [/moderate|worth a look|warning|watch|renamed|deprecated|\bunfinished\b/, "warn"],
  [/found|\bbad\b|\bred\b|large|conflict|missing|straggl|differs|(input|host|launch|latency)-bound/, "bad"],
  [/clear|good|excellent|small|fine|steady|\bok\b|\bknown\b|holds|agrees|\bset\b|\bdone\b/, "good"],
];

export function toneOf(word: string | null): ToneName {
  if (word === null || word === "") return "unknown";
  const text = word.toLowerCase();
  return WORDS.find(([pattern]) => pattern.test(text))?.[1] ?? "plain";
}
