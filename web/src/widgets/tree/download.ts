/** A tree as the rows of a table, as the command line writes it: a row a node, with its path. Pure. */

import type { Column, Table, Tree } from "../../api/types";
import type { FlatNode } from "./flat";

const OWN: readonly Column[] = [
  { id: "path", label: "Path", unit: "", kind: "text", doc: "" },
  { id: "depth", label: "Depth", unit: "1", kind: "int", doc: "" },
  { id: "label", label: "Name", unit: "", kind: "text", doc: "" },
];

export function asTable(tree: Pick<Tree, "id" | "title" | "columns">, all: readonly FlatNode[]): Table {
  return {
    id: tree.id,
    title: tree.title,
    columns: [...OWN, ...tree.columns],
    rows: all.map((one) => [one.path, one.depth, one.node.label, ...one.node.values]),
  };
}
