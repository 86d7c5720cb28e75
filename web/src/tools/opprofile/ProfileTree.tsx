/** One tree in three shapes: a table with bars, a flame graph, a treemap. Selection, zoom and search hold for all. */

import { useMemo, useState } from "preact/hooks";

import type { Tree } from "../../api/types";
import { formatDuration, formatInt, formatShare } from "../../base/format";
import { formatSort, parseSort } from "../../base/rows";
import { select as choose, go, view } from "../../state/route";
import { Treemap } from "../../widgets/chart/Treemap";
import { Panel } from "../../widgets/Panel";
import { downloadCsv } from "../../widgets/table/download";
import { Tabs } from "../../widgets/Tabs";
import { asTable } from "../../widgets/tree/download";
import { FlameGraph } from "../../widgets/tree/FlameGraph";
import type { FlatNode } from "../../widgets/tree/flat";
import {
  ancestorsOf,
  childrenOf,
  columnOf,
  firstWithSeveral,
  flatten,
  numberOf,
  openAtFirst,
  search,
  sizeColumn,
} from "../../widgets/tree/flat";
import { TreeTable } from "../../widgets/tree/TreeTable";
import { NodePanel } from "./NodePanel";

const SHAPES = [
  { id: "table", label: "Table" },
  { id: "flame", label: "Flame graph" },
  { id: "treemap", label: "Treemap" },
] as const;

/** What the table shows; the rest is beside a selected node. */
const SHOWN = [
  "self_ps",
  "share",
  "wasted_share",
  "flop_share_of_peak",
  "hbm_share_of_peak",
  "occurrences",
  "kind",
  "flop_rate",
  "hbm_rate",
  "average_ps",
  "ops",
];

export interface ProfileTreeProps {
  readonly tree: Tree;
  readonly pages: ReadonlySet<string>;
  readonly name: string;
}

export function ProfileTree({ tree, pages, name }: ProfileTreeProps) {
  const all = useMemo(() => flatten(tree), [tree]);
  const size = sizeColumn(tree.columns);
  const share = columnOf(tree.columns, "share");
  const shown = useMemo(() => SHOWN.map((id) => columnOf(tree.columns, id)).filter((index) => index >= 0), [tree]);
  const words = view.value["q"] ?? "";
  const found = useMemo(() => search(all, words), [all, words]);
  const first = useMemo(() => openAtFirst(all, size), [all, size]);
  const [opened, setOpened] = useState<{ readonly all: unknown; readonly open: ReadonlySet<number> } | null>(null);
  const named = (path: string | undefined): number => all.findIndex((one) => one.path === path);
  const at = named(view.value["sel"]);
  const selected = at >= 0 ? at : null;
  // What the address names stands open down to it.
  const open = useMemo(
    () =>
      opened !== null && opened.all === all ? opened.open : new Set([...first, ...(selected === null ? [] : ancestorsOf(all, selected))]),
    [opened, all, first, selected === null],
  );
  const select = (index: number | null): void => choose("sel", index === null ? "" : (all[index]?.path ?? ""));
  const shape = SHAPES.find((one) => one.id === view.value["as"])?.id ?? "table";
  const zoomed = named(view.value["at"]);
  const top = zoomed >= 0 ? zoomed : 0;
  const zoom = (index: number): void => go({ view: { at: index === 0 ? "" : (all[index]?.path ?? "") } });
  const say = (one: FlatNode): string => `${formatDuration(numberOf(one.node, size))}, ${formatShare(numberOf(one.node, share))}`;
  const openAll = (): void => setOpened({ all, open: new Set(all.filter((one) => one.node.children.length > 0).map((one) => one.index)) });
  return (
    <div class={selected === null ? "split" : "split open"}>
      <Panel
        title={tree.title}
        note={found === null ? `${formatInt(all.length)} nodes` : `${formatInt(found.hits.size)} of ${formatInt(all.length)} nodes`}
        flush={shape === "table"}
        class="grow"
        actions={
          <>
            <input
              class="filter"
              type="search"
              placeholder="Search"
              aria-label="Search names, categories, scopes and sources in the tree"
              value={words}
              onInput={(event) => go({ view: { q: event.currentTarget.value } }, "replace")}
            />
            <Tabs
              label="Shape"
              tabs={SHAPES}
              selected={shape}
              onSelect={(id) => go({ view: { as: id === "table" ? "" : id } }, "replace")}
            />
            {shape === "table" && (
              <>
                <button type="button" class="quiet" onClick={openAll}>
                  Open all
                </button>
                <button type="button" class="quiet" onClick={() => setOpened({ all, open: new Set([0]) })}>
                  Close all
                </button>
              </>
            )}
            <button type="button" class="quiet" onClick={() => downloadCsv(asTable(tree, all), name)}>
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
            onOpen={(next) => setOpened({ all, open: next })}
            found={found}
            sort={parseSort(view.value["sort"])}
            onSort={(key) => go({ view: { sort: key === null ? "" : formatSort(key) } }, "replace")}
            selected={selected}
            onSelect={select}
          />
        ) : (
          <>
            <Crumbs all={all} top={top} onZoom={zoom} />
            {shape === "flame" ? (
              <FlameGraph label={tree.title} all={all} top={top} size={size} selected={selected} onSelect={select} say={say} />
            ) : (
              <Tiles all={all} top={top} size={size} found={found?.shown ?? null} onZoom={zoom} onSelect={select} selected={selected} />
            )}
          </>
        )}
      </Panel>
      {selected !== null && (
        <NodePanel
          tree={tree}
          all={all}
          index={selected}
          pages={pages}
          onClose={() => select(null)}
          onZoom={shape === "table" ? null : zoom}
        />
      )}
    </div>
  );
}

/** The way from the whole down to what fills the picture. */
function Crumbs({
  all,
  top,
  onZoom,
}: {
  readonly all: readonly FlatNode[];
  readonly top: number;
  readonly onZoom: (index: number) => void;
}) {
  const path = [...ancestorsOf(all, top)].reverse();
  return (
    <nav class="crumbs" aria-label="Zoomed to">
      {path.map((index) => (
        <button type="button" class="link" key={index} onClick={() => onZoom(index)}>
          {all[index]?.node.label}
        </button>
      ))}
      <span aria-current="location">{all[top]?.node.label}</span>
    </nav>
  );
}

interface TilesProps {
  readonly all: readonly FlatNode[];
  readonly top: number;
  readonly size: number;
  /** What search left; null for all. */
  readonly found: ReadonlySet<number> | null;
  readonly selected: number | null;
  readonly onZoom: (index: number) => void;
  readonly onSelect: (index: number | null) => void;
}

/** The parts of one node as tiles: a part with parts of its own is zoomed to, an op is selected. */
function Tiles({ all, top: asked, size, found, selected, onZoom, onSelect }: TilesProps) {
  // One part alone would be one tile: the first node below with several has something to show.
  const top = useMemo(() => firstWithSeveral(all, asked), [all, asked]);
  const children = childrenOf(all, top).filter((index) => found === null || found.has(index));
  const lastOf = (index: number): string => all[index]?.path.slice((all[top]?.path.length ?? 0) + " > ".length) ?? "";
  const parts = useMemo(
    () => children.map((index) => ({ name: lastOf(index), value: numberOf(all[index]?.node, size) })),
    [all, top, size, found],
  );
  if (parts.length === 0) return <p class="empty">Nothing here has matching parts.</p>;
  const pick = (name: string | null): void => {
    const index = name === null ? undefined : children.find((child) => lastOf(child) === name);
    if (index !== undefined && (all[index]?.node.children.length ?? 0) > 0) onZoom(index);
    else onSelect(index ?? null);
  };
  return (
    <Treemap
      label={`Parts of ${all[top]?.node.label ?? ""}`}
      parts={parts}
      format={formatDuration}
      selected={selected === null || all[selected]?.parent !== top ? null : lastOf(selected)}
      onSelect={pick}
    />
  );
}
