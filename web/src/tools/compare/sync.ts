/** Two trees of which the same branches stand open. Pure. */

import type { FlatNode } from "../../widgets/tree/flat";

/** Positions of the nodes whose paths stand open. */
export function openIn(all: readonly FlatNode[], paths: ReadonlySet<string>): Set<number> {
  return new Set(all.filter((one) => one.node.children.length > 0 && paths.has(one.path)).map((one) => one.index));
}

/** The paths after one tree opened or closed nodes; what only the other tree has stays as it is. */
export function pathsAfter(all: readonly FlatNode[], open: ReadonlySet<number>, paths: ReadonlySet<string>): Set<string> {
  const own = new Set(all.map((one) => one.path));
  const next = new Set([...paths].filter((path) => !own.has(path)));
  for (const index of open) {
    const path = all[index]?.path;
    if (path !== undefined) next.add(path);
  }
  return next;
}

/** The node that stands at the same place in another tree; null where it has none. */
export function sameIn(all: readonly FlatNode[], path: string | null): number | null {
  const found = path === null ? -1 : all.findIndex((one) => one.path === path);
  return found < 0 ? null : found;
}
