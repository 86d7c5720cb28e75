/** The op profiles of both runs side by side: a branch that opens in one opens in the other. */

import { useMemo, useState } from "preact/hooks";

import type { Report, Tree } from "../../api/types";
import type { SortKey } from "../../base/rows";
import { formatSort, parseSort } from "../../base/rows";
import { go, hrefOf, view } from "../../state/route";
import { useAnalyses, useReportOf } from "../../state/resource";
import { Panel } from "../../widgets/Panel";
import { Empty, Loaded } from "../../widgets/States";
import { Tabs } from "../../widgets/Tabs";
import type { FlatNode } from "../../widgets/tree/flat";
import { columnOf, flatten, openAtFirst, search, sizeColumn } from "../../widgets/tree/flat";
import { TreeTable } from "../../widgets/tree/TreeTable";
import type { Which } from "./points";
import { openIn, pathsAfter, sameIn } from "./sync";

const BY_WORDS: Readonly<Record<string, string>> = {
  category: "Category",
  provenance: "Provenance",
  program: "Program",
  source: "Source",
};
/** Names of programs and ops change with every compilation; categories do not. */
const FIRST_BY = "category";
const SHOWN = ["share", "self_ps", "occurrences", "flop_share_of_peak", "hbm_share_of_peak"];

export interface TreesPanelProps {
  readonly runs: Readonly<Record<Which, string>>;
  readonly names: Readonly<Record<Which, string>>;
}

export function TreesPanel({ runs, names }: TreesPanelProps) {
  const analyses = useAnalyses();
  const choices = analyses.data?.analyses.find((one) => one.id === "op-profile")?.params.find((one) => one.id === "by")?.choices ?? [];
  const asked = view.value["tree"] ?? "";
  const by = choices.includes(asked) ? asked : choices.includes(FIRST_BY) ? FIRST_BY : "";
  const query: [string, string][] = by === "" ? [] : [["by", by]];
  const baseline = useReportOf(runs.baseline, "op-profile", query);
  const experiment = useReportOf(runs.experiment, "op-profile", query);
  return (
    <>
      <div class="compare-bar">
        <Tabs
          label="What the first levels are"
          tabs={choices.map((id) => ({ id, label: BY_WORDS[id] ?? id }))}
          selected={by}
          onSelect={(id) => go({ view: { tree: id === FIRST_BY ? "" : id, node: "" } }, "replace")}
        />
        <span class="sub">Times cover the whole capture of each run: if the number of steps differs, compare shares.</span>
      </div>
      <Loaded from={baseline} what="the op profile of the baseline">
        {(first) => (
          <Loaded from={experiment} what="the op profile of the experiment">
            {(second) => <Trees first={first} second={second} runs={runs} names={names} />}
          </Loaded>
        )}
      </Loaded>
    </>
  );
}

function Trees({ first, second, runs, names }: TreesPanelProps & { readonly first: Report; readonly second: Report }) {
  const trees = [first.trees[0], second.trees[0]] as const;
  const flat = useMemo(() => trees.map((tree) => (tree === undefined ? [] : flatten(tree))) as [FlatNode[], FlatNode[]], [first, second]);
  const atFirst = useMemo(
    () =>
      new Set(
        trees.flatMap((tree, i) => {
          const all = flat[i] ?? [];
          return tree === undefined ? [] : [...openAtFirst(all, sizeColumn(tree.columns))].flatMap((index) => all[index]?.path ?? []);
        }),
      ),
    [flat],
  );
  const [opened, setOpened] = useState<{ readonly of: unknown; readonly paths: ReadonlySet<string> } | null>(null);
  const paths = opened !== null && opened.of === flat ? opened.paths : atFirst;
  const [words, setWords] = useState("");
  const node = view.value["node"] ?? null;
  if (trees[0] === undefined && trees[1] === undefined) return <Empty>No operations ran in this scope.</Empty>;
  const side = (which: Which, i: 0 | 1) => (
    <Side
      which={which}
      run={runs[which]}
      name={names[which]}
      tree={trees[i]}
      all={flat[i]}
      open={openIn(flat[i], paths)}
      onOpen={(open) => setOpened({ of: flat, paths: pathsAfter(flat[i], open, paths) })}
      words={words}
      node={node}
    />
  );
  return (
    <>
      <input
        class="filter"
        type="search"
        placeholder="Search both"
        aria-label="Search names, categories, scopes and sources in both trees"
        value={words}
        onInput={(event) => setWords(event.currentTarget.value)}
      />
      <div class="columns">
        {side("baseline", 0)}
        {side("experiment", 1)}
      </div>
    </>
  );
}

interface SideProps {
  readonly which: Which;
  readonly run: string;
  readonly name: string;
  readonly tree: Tree | undefined;
  readonly all: readonly FlatNode[];
  readonly open: ReadonlySet<number>;
  readonly onOpen: (open: ReadonlySet<number>) => void;
  readonly words: string;
  /** The path of the node that is selected in both. */
  readonly node: string | null;
}

function Side({ which, run, name, tree, all, open, onOpen, words, node }: SideProps) {
  const found = useMemo(() => search(all, words), [all, words]);
  const shown = useMemo(
    () => (tree === undefined ? [] : SHOWN.map((id) => columnOf(tree.columns, id)).filter((index) => index >= 0)),
    [tree],
  );
  const sort: SortKey | null = parseSort(view.value["treesort"]);
  const title = which === "baseline" ? "Baseline" : "Experiment";
  const selected = sameIn(all, node);
  return (
    <Panel
      title={title}
      note={name}
      flush
      actions={
        <a href={hrefOf({ run, page: "op-profile", view: {} })} data-nav="op-profile">
          Its op profile
        </a>
      }
    >
      {tree === undefined || all.length === 0 ? (
        <Empty>No operations ran in this scope.</Empty>
      ) : (
        <>
          <TreeTable
            label={`${title}: ${tree.title}`}
            all={all}
            columns={tree.columns}
            shown={shown}
            open={open}
            onOpen={onOpen}
            found={found}
            sort={sort}
            onSort={(key) => go({ view: { treesort: key === null ? "" : formatSort(key) } }, "replace")}
            selected={selected}
            onSelect={(index) => go({ view: { node: index === null ? "" : (all[index]?.path ?? "") } }, "replace")}
          />
          {node !== null && selected === null && <p class="all-unknown">{`Not in this run: ${node}`}</p>}
        </>
      )}
    </Panel>
  );
}
