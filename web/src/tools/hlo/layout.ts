/** Places of nodes and courses of edges, by dagre. Runs in a worker: this file is the only one that loads dagre. */

import { Graph, layout } from "@dagrejs/dagre";

import type { LayoutAnswer, LayoutQuestion } from "./placed";

const GAP = { nodesep: 18, edgesep: 8, ranksep: 34, marginx: 8, marginy: 8 };

/** Above this many nodes the best ranks and the fewest crossings take seconds; good ones do. */
const BEST_UP_TO = 200;

export function layOut(question: LayoutQuestion): LayoutAnswer {
  const inside = new Set(question.nodes.map((node) => node.inside).filter((name) => name !== ""));
  try {
    return attempt(question, inside);
  } catch (error) {
    // Frames around what is unfolded constrain the layout, and dagre does not manage every such graph.
    if (inside.size === 0) throw error;
    return attempt(question, new Set());
  }
}

function attempt({ nodes, edges }: LayoutQuestion, frames: ReadonlySet<string>): LayoutAnswer {
  const large = nodes.length > BEST_UP_TO;
  const graph = new Graph({ compound: frames.size > 0 });
  graph.setGraph({ rankdir: "TB", ...GAP, ranker: large ? "tight-tree" : "network-simplex" });
  graph.setDefaultEdgeLabel(() => ({}));
  const frameId = (name: string): string => `frame\n${name}`;
  for (const node of nodes) graph.setNode(node.id, { width: node.width, height: node.height });
  for (const name of frames) graph.setNode(frameId(name), {});
  for (const node of nodes) if (frames.has(node.inside)) graph.setParent(node.id, frameId(node.inside));
  const insideOf = new Map(nodes.map((node) => [node.id, node.inside]));
  for (const name of frames) {
    const outer = insideOf.get(name) ?? "";
    if (outer !== "" && frames.has(outer)) graph.setParent(frameId(name), frameId(outer));
  }
  for (const edge of edges) graph.setEdge(edge.from, edge.to, { weight: Math.min(4, edge.count) });
  layout(graph, { disableOptimalOrderHeuristic: large });
  const box = (id: string): { x: number; y: number; width: number; height: number } => {
    const { x = 0, y = 0, width = 0, height = 0 } = graph.node(id) as Record<string, number>;
    return { x: x - width / 2, y: y - height / 2, width, height };
  };
  const { width = 0, height = 0 } = graph.graph() as Record<string, number>;
  return {
    width,
    height,
    nodes: nodes.map((node) => ({ id: node.id, ...box(node.id) })),
    frames: [...frames].map((name) => ({ id: name, ...box(frameId(name)) })),
    edges: edges.map(({ from, to, count }) => {
      const points = (graph.edge(from, to) as { points?: { x: number; y: number }[] }).points ?? [];
      return { from, to, count, points: points.map(({ x, y }): [number, number] => [x, y]) };
    }),
  };
}
