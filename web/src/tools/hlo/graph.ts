/** A neighbourhood of instructions, read from the report. Pure. */

import { columnIndex, numberAt, tableOf, textAt, valueNumber } from "../../api/read";
import type { Report } from "../../api/types";

export interface GraphNode {
  readonly name: string;
  readonly opcode: string;
  readonly shape: string;
  readonly computation: string;
  /** The call, loop or fusion whose computation it is in; empty in the entry or where that is not in the graph. */
  readonly caller: string;
  /** Instructions in the computations that it calls, in the graph or not. */
  readonly children: number;
  /** The layer of the model, or empty. */
  readonly layer: string;
  readonly timePs: number | null;
  readonly flops: number | null;
  readonly bytes: number | null;
  /** Its row in the table. */
  readonly row: number;
}

/** From the producer to its user. */
export interface Edge {
  readonly from: string;
  readonly to: string;
}

export interface Graph {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly Edge[];
}

export function readGraph(report: Report): Graph {
  const nodes = tableOf(report, "nodes");
  const edges = tableOf(report, "edges");
  if (nodes === null) return { nodes: [], edges: [] };
  const column = (...ids: string[]): number => columnIndex(nodes, ...ids);
  const at = {
    name: column("name"),
    opcode: column("opcode"),
    shape: column("shape"),
    computation: column("computation"),
    parent: column("parent"),
    children: column("children"),
    layer: column("layer"),
    opName: column("op_name"),
    time: column("self_ps"),
    flops: column("flops"),
    bytes: column("bytes"),
  };
  const list = nodes.rows.map((row, i): GraphNode => {
    const text = (index: number): string => textAt(row, index) ?? "";
    return {
      name: text(at.name),
      opcode: text(at.opcode),
      shape: text(at.shape),
      computation: text(at.computation),
      caller: text(at.parent),
      children: numberAt(row, at.children) ?? 0,
      layer: at.layer >= 0 ? text(at.layer) : layerOf(text(at.opName)),
      timePs: numberAt(row, at.time),
      flops: numberAt(row, at.flops),
      bytes: numberAt(row, at.bytes),
      row: i,
    };
  });
  const from = edges === null ? -1 : columnIndex(edges, "from");
  const to = edges === null ? -1 : columnIndex(edges, "to");
  return {
    nodes: list,
    edges: (edges?.rows ?? []).map((row) => ({ from: textAt(row, from) ?? "", to: textAt(row, to) ?? "" })),
  };
}

/** The part of a framework's op name up to a numbered scope: `jit(f)/model/layers_3/attn/dot` gives `model/layers_3`. */
export function layerOf(opName: string): string {
  const parts = opName.split("/");
  const index = parts.findIndex((part, i) => i < parts.length - 1 && /^[A-Za-z][\w-]*?[_.\-[]?\d+\]?$/.test(part) && !part.includes("("));
  if (index < 0) return "";
  return parts
    .slice(0, index + 1)
    .filter((part) => !part.includes("("))
    .join("/");
}

export type ColourBy = "time" | "flops" | "bytes";

/** Steps of the colour scale above zero. */
export const HEATS = 5;

/** The step of the scale for a value: 0 for nothing, -1 where it is unknown. Areas, not lengths, are compared by eye, so the
 * scale goes by the root. */
export function heat(value: number | null, most: number): number {
  if (value === null) return -1;
  if (value <= 0 || most <= 0) return 0;
  return Math.max(1, Math.min(HEATS, Math.ceil(HEATS * Math.sqrt(value / most) - 1e-9)));
}

/** The lowest value of a step of the scale. */
export function heatFrom(step: number, most: number): number {
  return most * (Math.max(0, step - 1) / HEATS) ** 2;
}

/** What the graph is drawn around: what was asked for where it is there, else what the server chose. */
export function centreOf(report: Report, graph: Graph, asked: string): string {
  if (graph.nodes.some((node) => node.name === asked)) return asked;
  const value = report.values["node"]?.value;
  if (typeof value === "string" && graph.nodes.some((node) => node.name === value)) return value;
  return graph.nodes[0]?.name ?? "";
}

/** The instructions of the path, in its order; empty where none was asked for, null where there is none. A report about a
 * path holds nothing else. */
export function pathOf(report: Report, graph: Graph, to: string): readonly string[] | null {
  if (to === "") return NO_PATH;
  if (valueNumber(report, "path_steps") === null) return null;
  const nodes = tableOf(report, "nodes");
  const distance = nodes === null ? -1 : columnIndex(nodes, "distance");
  const steps = (node: GraphNode): number => numberAt(nodes?.rows[node.row], distance) ?? 0;
  return [...graph.nodes].sort((a, b) => steps(a) - steps(b)).map((node) => node.name);
}

const NO_PATH: readonly string[] = [];
