/** Makes a neighbourhood small enough to read: what a call or a fusion holds folds into it, the instructions of a layer
 * into the layer, and layers of one make into one node that says how many they are. Pure. */

import type { Edge, Graph, GraphNode } from "./graph";

/** A node as it is drawn. */
export interface Drawn {
  /** The instruction's name, or the key of what is folded. */
  readonly id: string;
  readonly kind: "instruction" | "layer" | "layers";
  readonly label: string;
  /** What is said below the label. */
  readonly note: string;
  /** How many are drawn as one. */
  readonly times: number;
  /** Instructions that it stands for, its own first. */
  readonly members: readonly GraphNode[];
  /** The call or fusion that it belongs to, where that is unfolded. */
  readonly inside: string;
  /** Whether a click unfolds it. */
  readonly folded: boolean;
  /** Sums over members that are not inside one another; null where none is known. */
  readonly timePs: number | null;
  readonly flops: number | null;
  readonly bytes: number | null;
}

export interface DrawnEdge {
  readonly from: string;
  readonly to: string;
  readonly count: number;
}

export interface Folded {
  readonly nodes: readonly Drawn[];
  readonly edges: readonly DrawnEdge[];
  /** Which drawn node an instruction is in. */
  readonly home: ReadonlyMap<string, string>;
}

export interface FoldOptions {
  readonly layers: boolean;
  /** Keys of what is unfolded: names of calls and fusions, `layer:` and `layers:` keys. */
  readonly open: ReadonlySet<string>;
  /** Never folded away: what the graph is about, and the ends of a path. */
  readonly keep: ReadonlySet<string>;
}

export function fold(graph: Graph, options: FoldOptions): Folded {
  const byName = new Map(graph.nodes.map((node) => [node.name, node]));
  const callers = keptOpen(byName, options);
  const tops = new Map<string, GraphNode>();
  for (const node of graph.nodes) tops.set(node.name, topOf(node, byName, callers));

  const layers = options.layers ? foldedLayers(graph, tops, options.keep) : new Map<string, GraphNode[]>();
  // Neighbours are found with the unfolded ones among them: unfolding one must not put the others together again.
  const merged = mergedLayers(layers, options.open);
  for (const layer of [...layers.keys()]) if (options.open.has(`layer:${layer}`)) layers.delete(layer);
  const home = new Map<string, string>();
  for (const node of graph.nodes) {
    const top = tops.get(node.name) ?? node;
    const layer = layers.has(top.layer) && !options.keep.has(top.name) ? top.layer : "";
    home.set(node.name, layer === "" ? top.name : (merged.get(layer)?.key ?? `layer:${layer}`));
  }

  const members = new Map<string, GraphNode[]>();
  for (const node of graph.nodes) {
    const key = home.get(node.name) ?? node.name;
    const list = members.get(key);
    if (list === undefined) members.set(key, [node]);
    else if (key === node.name) list.unshift(node);
    else list.push(node);
  }
  const nodes = [...members].map(([id, list]) => draw(id, list, tops, merged, callers));
  return { nodes, edges: foldEdges(graph.edges, home), home };
}

/** Calls and fusions to show unfolded: those asked for, and those around what must stay in sight. */
function keptOpen(byName: ReadonlyMap<string, GraphNode>, { open, keep }: FoldOptions): ReadonlySet<string> {
  const callers = new Set([...open].filter((key) => byName.has(key)));
  for (const name of keep) {
    let caller = byName.get(name)?.caller ?? "";
    while (caller !== "" && !callers.has(caller)) {
      callers.add(caller);
      caller = byName.get(caller)?.caller ?? "";
    }
  }
  return callers;
}

/** The outermost folded call that holds a node, or the node. */
function topOf(node: GraphNode, byName: ReadonlyMap<string, GraphNode>, open: ReadonlySet<string>): GraphNode {
  let top = node;
  const seen = new Set<string>();
  for (let at: GraphNode | undefined = node; at !== undefined && !seen.has(at.name); ) {
    seen.add(at.name);
    const caller: GraphNode | undefined = byName.get(at.caller);
    if (caller !== undefined && !open.has(caller.name)) top = caller;
    at = caller;
  }
  return top;
}

/** Layers that can be folded, with the nodes in them that are not inside another. */
function foldedLayers(graph: Graph, tops: ReadonlyMap<string, GraphNode>, keep: ReadonlySet<string>): Map<string, GraphNode[]> {
  const layers = new Map<string, GraphNode[]>();
  const kept = new Set<string>();
  for (const node of graph.nodes) {
    if (keep.has(node.name)) kept.add(node.layer);
    if (tops.get(node.name) !== node || node.layer === "") continue;
    const list = layers.get(node.layer) ?? [];
    list.push(node);
    layers.set(node.layer, list);
  }
  for (const [layer, list] of layers) {
    if (list.length < 2 || kept.has(layer)) layers.delete(layer);
  }
  return layers;
}

interface Merged {
  readonly key: string;
  readonly layers: readonly string[];
}

/** Neighbours of one make: as many instructions of each opcode and shape, numbered one after the other. */
function mergedLayers(layers: ReadonlyMap<string, readonly GraphNode[]>, open: ReadonlySet<string>): Map<string, Merged> {
  const makes = new Map(
    [...layers].map(([layer, nodes]) => [
      layer,
      nodes
        .map((node) => `${node.opcode} ${node.shape}`)
        .sort()
        .join("\n"),
    ]),
  );
  const merged = new Map<string, Merged>();
  let run: string[] = [];
  const close = (): void => {
    const key = `layers:${run[0] ?? ""}`;
    const folded = run.filter((name) => !open.has(`layer:${name}`));
    if (folded.length > 1 && !open.has(key)) for (const name of folded) merged.set(name, { key, layers: folded });
  };
  for (const name of [...layers.keys()].sort(byNumber)) {
    const before = run.at(-1);
    if (before !== undefined && follows(before, name) && makes.get(before) === makes.get(name)) run.push(name);
    else {
      close();
      run = [name];
    }
  }
  close();
  return merged;
}

function byNumber(a: string, b: string): number {
  return a.localeCompare(b, "en", { numeric: true });
}

/** `layer 10` follows `layer 9`. */
export function follows(before: string, name: string): boolean {
  const parts = (text: string): [string, number] => {
    const digits = /\d+$/.exec(text)?.[0] ?? "";
    return [text.slice(0, text.length - digits.length), digits === "" ? Number.NaN : Number(digits)];
  };
  const [a, i] = parts(before);
  const [b, j] = parts(name);
  return a === b && j === i + 1;
}

/** Sums what is known; null where nothing is. */
export function sumKnown(values: Iterable<number | null>): number | null {
  let sum: number | null = null;
  for (const value of values) if (value !== null) sum = (sum ?? 0) + value;
  return sum;
}

function draw(
  id: string,
  members: readonly GraphNode[],
  tops: ReadonlyMap<string, GraphNode>,
  merged: ReadonlyMap<string, Merged>,
  open: ReadonlySet<string>,
): Drawn {
  // A fusion's cost is its own: what it holds is counted in it.
  const outer = members.filter((node) => tops.get(node.name) === node);
  const first = members[0];
  const layer = outer[0]?.layer ?? "";
  const many = id.startsWith("layers:") ? (merged.get(layer)?.layers ?? []) : [];
  const kind = many.length > 0 ? "layers" : id.startsWith("layer:") ? "layer" : "instruction";
  const sums = {
    timePs: sumKnown(outer.map((node) => node.timePs)),
    flops: sumKnown(outer.map((node) => node.flops)),
    bytes: sumKnown(outer.map((node) => node.bytes)),
  };
  if (kind === "instruction" || first === undefined) {
    const inner = members.length - 1;
    const isOpen = open.has(id);
    return {
      id,
      kind: "instruction",
      label: id,
      note: (first?.children ?? 0) > 0 ? `${first?.opcode} of ${first?.children}` : (first?.opcode ?? ""),
      times: 1,
      members,
      inside: first !== undefined && open.has(first.caller) ? first.caller : "",
      folded: inner > 0 && !isOpen,
      ...sums,
    };
  }
  const label = kind === "layer" ? layer : `${many[0]} … ${many.at(-1)}`;
  const note = kind === "layer" ? `${outer.length} instructions` : `${outer.length / many.length} instructions each`;
  return { id, kind, label, note, times: Math.max(1, many.length), members, inside: "", folded: true, ...sums };
}

function foldEdges(edges: readonly Edge[], home: ReadonlyMap<string, string>): DrawnEdge[] {
  const folded = new Map<string, DrawnEdge>();
  for (const edge of edges) {
    const from = home.get(edge.from);
    const to = home.get(edge.to);
    if (from === undefined || to === undefined || from === to) continue;
    const key = `${from}\n${to}`;
    folded.set(key, { from, to, count: (folded.get(key)?.count ?? 0) + 1 });
  }
  return [...folded.values()];
}

/** The address' list of what is unfolded, with one key put in or taken out. */
export function toggled(open: ReadonlySet<string>, key: string): string {
  const next = new Set(open);
  if (!next.delete(key)) next.add(key);
  return [...next].join(",");
}

export function openKeys(text: string | undefined): ReadonlySet<string> {
  return new Set((text ?? "").split(",").filter((key) => key !== ""));
}
