/** Parts of parts as rows of boxes, each as wide as its share of the whole: a flame graph that hangs. Pure. */

export interface Branch {
  readonly name: string;
  /** From the top to here. */
  readonly path: readonly string[];
  readonly value: number;
  readonly children: readonly Branch[];
  /** What stands behind a leaf, such as the row of a table; null where there are several or none. */
  readonly leaf: number | null;
}

export interface Leaf {
  readonly path: readonly string[];
  readonly value: number;
  readonly leaf: number;
}

interface Growing {
  value: number;
  leaf: number | null;
  readonly children: Map<string, Growing>;
}

/** The tree of all leaves; a level's parts stand largest first. */
export function grow(name: string, leaves: readonly Leaf[]): Branch {
  const root: Growing = { value: 0, leaf: null, children: new Map() };
  for (const { path, value, leaf } of leaves) {
    if (!(value > 0)) continue;
    let at = root;
    at.value += value;
    path.forEach((part, i) => {
      const known = at.children.get(part);
      const last = i === path.length - 1;
      const next = known ?? { value: 0, leaf: last ? leaf : null, children: new Map<string, Growing>() };
      if (known === undefined) at.children.set(part, next);
      else if (last) next.leaf = null;
      next.value += value;
      at = next;
    });
  }
  const branch = (label: string, path: readonly string[], node: Growing): Branch => ({
    name: label,
    path,
    value: node.value,
    leaf: node.leaf,
    children: [...node.children].map(([part, child]) => branch(part, [...path, part], child)).sort((a, b) => b.value - a.value),
  });
  return branch(name, [], root);
}

export interface IcicleBox {
  readonly branch: Branch;
  readonly level: number;
  /** Pixels. */
  readonly left: number;
  readonly width: number;
  /** Places among the boxes, for the arrow keys; -1 where there is none. */
  readonly parent: number;
  /** How many siblings too small to draw it stands for; 0 for a box of its own. */
  readonly rest: number;
}

/** Boxes of the branch and all below it, a parent before its children. Parts narrower than `smallest` pixels become one at the end of
 * their level. */
export function boxes(top: Branch, width: number, smallest: number): IcicleBox[] {
  const placed: IcicleBox[] = [];
  const place = (branch: Branch, level: number, left: number, wide: number, parent: number): void => {
    const own = placed.length;
    placed.push({ branch, level, left, width: wide, parent, rest: 0 });
    let at = left;
    let small = 0;
    let count = 0;
    for (const child of branch.children) {
      const part = branch.value > 0 ? (child.value / branch.value) * wide : 0;
      if (part < smallest) {
        small += child.value;
        count += 1;
        continue;
      }
      place(child, level + 1, at, part, own);
      at += part;
    }
    const part = branch.value > 0 ? (small / branch.value) * wide : 0;
    if (count > 0 && part >= 1) {
      const name = `${count} others`;
      const others: Branch = { name, path: [...branch.path, name], value: small, children: [], leaf: null };
      placed.push({ branch: others, level: level + 1, left: at, width: part, parent: own, rest: count });
    }
  };
  if (width > 0 && top.value > 0) place(top, 0, 0, width, -1);
  return placed;
}

/** The branch at a path, or the deepest one on the way to it. */
export function branchAt(top: Branch, path: readonly string[]): Branch {
  let at = top;
  for (const part of path) {
    const next = at.children.find((child) => child.name === part);
    if (next === undefined) return at;
    at = next;
  }
  return at;
}

/** Where an arrow key leads from a box: up to its parent, down to its largest part, sideways on its level; -1 for nowhere. */
export function neighbour(all: readonly IcicleBox[], from: number, key: string): number {
  const box = all[from];
  if (box === undefined) return -1;
  if (key === "ArrowUp") return box.parent;
  if (key === "ArrowDown") return all.findIndex((one) => one.parent === from);
  const level = all.flatMap((one, i) => (one.level === box.level ? [i] : [])).sort((a, b) => (all[a]?.left ?? 0) - (all[b]?.left ?? 0));
  const next = level[level.indexOf(from) + (key === "ArrowRight" ? 1 : key === "ArrowLeft" ? -1 : 0)];
  return next === undefined || next === from ? -1 : next;
}

/** A text for the address. */
export function pathText(path: readonly string[]): string {
  return path.map((part) => part.replaceAll(">", "\\>")).join(" > ");
}

export function pathOf(text: string): string[] {
  return text === "" ? [] : text.split(" > ").map((part) => part.replaceAll("\\>", ">"));
}
