/** Where a node of the op profile leads: to its row, its program, its events. Pure. */

import type { Column, TreeNode } from "../../api/types";
import { columnOf } from "../../widgets/tree/flat";
import type { OpName } from "../../widgets/op/card";
import type { RouteChange } from "../../state/url";

export interface Lead {
  readonly label: string;
  readonly to: RouteChange;
}

export function wordOf(columns: readonly Column[], node: TreeNode, id: string): string {
  const cell = node.values[columnOf(columns, id)];
  return typeof cell === "string" ? cell : "";
}

/** The module as other pages ask for it: by name and program id, because programs share names. */
function moduleOf(columns: readonly Column[], node: TreeNode): string {
  const [module, id] = [wordOf(columns, node, "module"), wordOf(columns, node, "program_id")];
  return id === "" || module === "" ? module : `${module}(${id})`;
}

/** The op that a node is; null where it stands for more than one. */
export function opOf(columns: readonly Column[], node: TreeNode): OpName | null {
  return wordOf(columns, node, "kind") === "op" ? { name: node.label, module: moduleOf(columns, node) } : null;
}

/** `pages`: the pages that there are. */
export function leads(columns: readonly Column[], node: TreeNode, pages: ReadonlySet<string>): Lead[] {
  const kind = wordOf(columns, node, "kind");
  const module = moduleOf(columns, node);
  const name = wordOf(columns, node, "module");
  const found: (Lead & { readonly page: string })[] = [];
  const add = (page: string, label: string, to: Omit<RouteChange, "page">): void => {
    if (pages.has(page)) found.push({ page, label, to: { page, ...to } });
  };
  if (kind === "op") {
    add("ops", "In the table of ops", { view: { sel: name === "" ? node.label : `${node.label} @ ${name}` } });
    if (module !== "") add("hlo", "In the graph", { view: { module, node: node.label, tab: "graph" } });
    add("timeline", "On the timeline", { view: { q: node.label } });
    const file = wordOf(columns, node, "source").replace(/:\d+(:\d+)?$/, "");
    const line = /:(\d+)(?::\d+)?$/.exec(wordOf(columns, node, "source"))?.[1] ?? "";
    if (file !== "") add("source", "In the source", { view: { at: file, line } });
  } else if (kind === "category") {
    add("ops", "Its ops in the table", { view: { q: node.label } });
  } else if (kind === "program") {
    if (module !== "") add("hlo", "The program", { view: { module } });
    if (name !== "") add("op-profile", "Only this program", { scope: { modules: name } });
  } else if (kind === "file") {
    add("source", "In the source", { view: { at: node.label } });
  }
  return found.map(({ label, to }) => ({ label, to }));
}
