/** What a few letters mean among everything that there is to go to. Pure. */

export type Kind = "page" | "command" | "run" | "step" | "track" | "op";

export interface Item {
  readonly kind: Kind;
  readonly label: string;
  /** Said behind the label, and found too. */
  readonly note: string;
}

/** In which order kinds stand that fit equally well. */
const ORDER: readonly Kind[] = ["page", "command", "step", "op", "track", "run"];
/** So many of one kind are shown: the others should be seen too. */
const OF_A_KIND = 8;

/** How well words fit, 0 best; null where one of them does not occur. */
export function fit(words: readonly string[], item: Item): number | null {
  const label = item.label.toLowerCase();
  const all = `${label} ${item.kind} ${item.note.toLowerCase()}`;
  if (!words.every((word) => all.includes(word))) return null;
  const text = words.join(" ");
  if (label === text) return 0;
  if (label.startsWith(text)) return 1;
  const begins = (word: string): boolean => new RegExp(`(^|[^a-z0-9])${word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}`).test(label);
  if (words.every(begins)) return 2;
  return words.every((word) => label.includes(word)) ? 3 : 4;
}

/** The items that hold every word of the query, the best first; without a query what is few: pages and commands. */
export function rank<T extends Item>(query: string, items: readonly T[]): T[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return items.filter((item) => item.kind === "page" || item.kind === "command");
  const found = items.flatMap((item, at) => {
    const score = fit(words, item);
    return score === null ? [] : [{ item, at, score, kind: ORDER.indexOf(item.kind) }];
  });
  found.sort((a, b) => a.score - b.score || a.kind - b.kind || a.at - b.at);
  const counts = new Map<Kind, number>();
  return found.flatMap(({ item }) => {
    const count = counts.get(item.kind) ?? 0;
    counts.set(item.kind, count + 1);
    return count < OF_A_KIND ? [item] : [];
  });
}
