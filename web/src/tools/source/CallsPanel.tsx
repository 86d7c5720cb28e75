import { useMemo, useState } from "preact/hooks";

import type { Tree } from "../../api/types";
import { formatDuration, formatInt, formatShare } from "../../base/format";
import { formatSort, parseSort } from "../../base/rows";
import { go, view } from "../../state/route";
import { Panel } from "../../widgets/Panel";
import { downloadCsv } from "../../widgets/table/download";
import { Tabs } from "../../widgets/Tabs";
import { asTable } from "../../widgets/tree/download";
import { FlameGraph } from "../../widgets/tree/FlameGraph";
import { ancestorsOf, columnOf, flatten, numberOf, openAtFirst, search, sizeColumn } from "../../widgets/tree/flat";
import { TreeTable } from "../../widgets/tree/TreeTable";

const SHAPES = [
  { id: "table", label: "Table" },
  { id: "flame", label: "Flame graph" },
] as const;

const SHOWN = ["total_ps", "total_share", "self_ps", "ops"];

/** The calls that lead to ops, outermost first. Picking one shows its line. */
export function CallsPanel({ tree }: { readonly tree: Tree }) {
  // The outermost calls are several where a program has several entry points; one above them gives the flame graph its base.
  const rooted = useMemo(() => withRoot(tree), [tree]);
  const all = useMemo(() => flatten(rooted), [rooted]);
  const size = sizeColumn(tree.columns);
  const [opened, setOpened] = useState<ReadonlySet<number> | null>(null);
  const open = opened ?? openAtFirst(all, size);
  const words = view.value["q"] ?? "";
  const found = useMemo(() => search(all, words), [all, words]);
  const shape = view.value["as"] === "flame" ? "flame" : "table";
  const shown = useMemo(() => SHOWN.map((id) => columnOf(tree.columns, id)).filter((index) => index >= 0), [tree]);
  const share = columnOf(tree.columns, "total_share");
  const pick = (index: number | null): void => {
    const node = index === null ? undefined : all[index]?.node;
    const file = node?.values[columnOf(tree.columns, "file")];
    const line = node?.values[columnOf(tree.columns, "line")];
    if (typeof file === "string") go({ view: { show: "", at: file, line: typeof line === "number" ? String(line) : "", q: "" } });
  };
  return (
    <Panel
      title={tree.title}
      note={`${formatInt(all.length)} calls; pick one to see its line`}
      flush={shape === "table"}
      actions={
        <>
          <input
            class="filter"
            type="search"
            placeholder="Search"
            aria-label="Search files and functions"
            value={words}
            onInput={(event) => go({ view: { q: event.currentTarget.value } }, "replace")}
          />
          <Tabs label="Shape" tabs={SHAPES} selected={shape} onSelect={(id) => go({ view: { as: id === "table" ? "" : id } }, "replace")} />
          <button type="button" class="quiet" onClick={() => downloadCsv(asTable(tree, all), "source-calls")}>
            CSV
          </button>
        </>
      }
    >
      {shape === "table" ? (
        <TreeTable
          label={tree.title}
          all={all}
          columns={tree.columns}
          shown={shown}
          open={open}
          onOpen={setOpened}
          found={found}
          sort={parseSort(view.value["sort"])}
          onSort={(key) => go({ view: { sort: key === null ? "" : formatSort(key) } }, "replace")}
          selected={null}
          onSelect={pick}
        />
      ) : (
        <FlameGraph
          label={tree.title}
          all={all}
          top={0}
          size={size}
          selected={null}
          onSelect={pick}
          say={(one) =>
            `${formatDuration(numberOf(one.node, size))}, ${formatShare(numberOf(one.node, share))}, ${ancestorsOf(all, one.index).length} calls deep`
          }
        />
      )}
    </Panel>
  );
}

function withRoot(tree: Tree): Tree {
  if (tree.nodes.length < 2) return tree;
  const sum = (id: string): number | null => {
    const index = columnOf(tree.columns, id);
    return index < 0 ? null : tree.nodes.reduce((all, node) => all + numberOf(node, index), 0);
  };
  const values = tree.columns.map((column) => (column.kind === "text" || column.id === "line" ? null : sum(column.id)));
  return { ...tree, nodes: [{ label: "all calls", values, children: tree.nodes }] };
}
