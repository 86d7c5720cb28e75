/** A report's tree as a list in which parents come first: what is open, what is found, what order. Pure. */

import type { Column, Tree, TreeNode } from "../../api/types";
import type { Cell } from "../../base/format";
import { compareCells } from "../../base/rows";
import type { SortKey } from "../../base/rows";

export interface FlatNode {
  readonly index: number;
  readonly node: TreeNode;
  readonly depth: number;
  /** -1 at the top. */
  readonly parent: number;
  /** One past the last node below. */
  readonly end: number;
  /** Labels from the top; with a number behind one that a sibling has too. */
  readonly path: string;
}

const BETWEEN = " > ";

export function flatten(tree: Pick<Tree, "nodes">): FlatNode[] {
  const all: FlatNode[] = [];
  const add = (nodes: readonly TreeNode[], depth: number, parent: number, above: string): void => {
    const seen = new Map<string, number>();
    for (const node of nodes) {
      const count = (seen.get(node.label) ?? 0) + 1;
      seen.set(node.label, count);
      const name = count > 1 ? `${node.label} #${count}` : node.label;
      const path = above === "" ? name : above + BETWEEN + name;
      const index = all.length;
      const own = { index, node, depth, parent, end: 0, path };
      all.push(own);
      add(node.children, depth + 1, index, path);
      own.end = all.length;
    }
  };
  add(tree.nodes, 0, -1, "");
  return all;
}

export function childrenOf(all: readonly FlatNode[], index: number): number[] {
  const children: number[] = [];
  const end = index < 0 ? all.length : (all[index]?.end ?? 0);
  for (let at = index + 1; at < end; at = all[at]?.end ?? end) children.push(at);
  return children;
}

/** The node itself, or the first below it that has several parts: what is alone in its parent tells nothing apart. */
export function firstWithSeveral(all: readonly FlatNode[], index: number): number {
  const children = childrenOf(all, index);
  const [only] = children;
  return children.length === 1 && only !== undefined && childrenOf(all, only).length > 0 ? firstWithSeveral(all, only) : index;
}

export function ancestorsOf(all: readonly FlatNode[], index: number): number[] {
  const above: number[] = [];
  for (let at = all[index]?.parent ?? -1; at >= 0; at = all[at]?.parent ?? -1) above.push(at);
  return above;
}

export function columnOf(columns: readonly Column[], id: string): number {
  return columns.findIndex((column) => column.id === id);
}

/** The column that says how large a node is: the first of numbers. */
export function sizeColumn(columns: readonly Column[]): number {
  return columns.findIndex((column) => column.kind !== "text" && column.kind !== "flag");
}

export function numberOf(node: TreeNode | undefined, column: number): number {
  const cell = node?.values[column];
  return typeof cell === "number" && Number.isFinite(cell) ? cell : 0;
}

/** Nodes in whose label or words every word occurs, and those above them. Null where nothing is looked for. */
export interface Found {
  readonly hits: ReadonlySet<number>;
  readonly shown: ReadonlySet<number>;
}

export function search(all: readonly FlatNode[], words: string): Found | null {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  if (wanted.length === 0) return null;
  const hits = new Set<number>();
  const shown = new Set<number>();
  for (const { index, node } of all) {
    const text = [node.label, ...node.values.filter((cell) => typeof cell === "string")].join("\n").toLowerCase();
    if (!wanted.every((word) => text.includes(word))) continue;
    hits.add(index);
    shown.add(index);
    for (const above of ancestorsOf(all, index)) shown.add(above);
  }
  return { hits, shown };
}

/** The rows of the table from top to bottom. What was found stands open down to the hits. */
export function visible(
  all: readonly FlatNode[],
  columns: readonly Column[],
  open: ReadonlySet<number>,
  found: Found | null,
  sort: SortKey | null,
): number[] {
  const column = sort === null || sort.column === "label" ? -1 : columnOf(columns, sort.column);
  const cell = (index: number): Cell =>
    (sort?.column === "label" ? all[index]?.node.label : column < 0 ? null : all[index]?.node.values[column]) ?? null;
  const rows: number[] = [];
  const walk = (parent: number): void => {
    let children = childrenOf(all, parent);
    if (found !== null) children = children.filter((child) => found.shown.has(child));
    if (sort !== null) children.sort((a, b) => compareCells(cell(a), cell(b), sort.descending) || a - b);
    for (const child of children) {
      rows.push(child);
      if (open.has(child) || (found !== null && !found.hits.has(child))) walk(child);
    }
  };
  walk(-1);
  return rows;
}

/** What stands open at first: the first two levels, and further down what has half of its parent. */
export function openAtFirst(all: readonly FlatNode[], size: number): Set<number> {
  const open = new Set<number>();
  for (const { index, node, depth, parent } of all) {
    if (node.children.length === 0) continue;
    const large = open.has(parent) && numberOf(node, size) > numberOf(all[parent]?.node, size) / 2;
    if (depth < 2 || (large && depth < 4)) open.add(index);
  }
  return open;
}
