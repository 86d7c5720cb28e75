import { useMemo, useState } from "preact/hooks";

import type { Tree } from "../../api/types";
import { formatInt } from "../../base/format";
import type { SortKey } from "../../base/rows";
import { Panel } from "../Panel";
import { downloadCsv } from "../table/download";
import { asTable } from "./download";
import { flatten, openAtFirst, search, sizeColumn } from "./flat";
import { TreeTable } from "./TreeTable";

/** Any tree of a report, with a search and its CSV. */
export function TreePanel({ tree, name }: { readonly tree: Tree; readonly name: string }) {
  const all = useMemo(() => flatten(tree), [tree]);
  const first = useMemo(() => openAtFirst(all, sizeColumn(tree.columns)), [all]);
  const [opened, setOpened] = useState<{ readonly all: unknown; readonly open: ReadonlySet<number> } | null>(null);
  const [words, setWords] = useState("");
  const [sort, setSort] = useState<SortKey | null>(null);
  const [selected, setSelected] = useState<number | null>(null);
  const found = useMemo(() => search(all, words), [all, words]);
  // A column that no node has a number or word for says nothing.
  const shown = useMemo(
    () => tree.columns.flatMap((_, i) => (all.some((one) => (one.node.values[i] ?? null) !== null) ? [i] : [])),
    [tree, all],
  );
  return (
    <Panel
      title={tree.title}
      note={`${formatInt(all.length)} nodes`}
      flush
      actions={
        <>
          <input
            class="filter"
            type="search"
            placeholder="Search"
            aria-label={`Search ${tree.title}`}
            value={words}
            onInput={(event) => setWords(event.currentTarget.value)}
          />
          <button type="button" class="quiet" onClick={() => downloadCsv(asTable(tree, all), `${name}-${tree.id}`)}>
            CSV
          </button>
        </>
      }
    >
      <TreeTable
        label={tree.title}
        all={all}
        columns={tree.columns}
        shown={shown}
        open={opened !== null && opened.all === all ? opened.open : first}
        onOpen={(open) => setOpened({ all, open })}
        found={found}
        sort={sort}
        onSort={setSort}
        selected={selected}
        onSelect={setSelected}
      />
    </Panel>
  );
}
