/** The stacks of an area as parts of parts. Values are the server's own: what a part has beyond its parts is its self time. Pure. */

import type { StackNode } from "../../api/timeline";
import type { Branch } from "../../widgets/chart/icicle";

interface Growing {
  readonly name: string;
  readonly path: readonly string[];
  readonly value: number;
  readonly children: Growing[];
  leaf: number | null;
}

/** The tree of a list whose parents stand before what hangs on them. `whole` is the value of what holds those at the top; where they
 * are one alone, it is the tree. */
export function treeOf(nodes: readonly StackNode[], name: string, whole: number): Branch {
  const root: Growing = { name, path: [], value: whole, children: [], leaf: null };
  const placed: Growing[] = [];
  const single = nodes.filter((node) => node.parent === null).length === 1 && nodes[0]?.name === name;
  nodes.forEach((node, i) => {
    if (single && node.parent === null) return placed.push(root);
    const above = node.parent === null ? root : (placed[node.parent] ?? root);
    const one: Growing = { name: node.name, path: [...above.path, node.name], value: node.total_ps, children: [], leaf: i };
    above.children.push(one);
    // What holds others is opened by a click; what holds none stands for itself.
    above.leaf = null;
    return placed.push(one);
  });
  return root;
}
