import { useMemo } from "preact/hooks";

import { columnIndex, textAt } from "../../api/read";
import type { Table } from "../../api/types";
import { hashName } from "../../base/colour";
import { categoryVar } from "../../base/meaning";
import { formatDuration } from "../../base/format";
import { go, view } from "../../state/route";
import { Icicle } from "../../widgets/chart/Icicle";
import type { Branch } from "../../widgets/chart/icicle";
import { grow, pathOf, pathText } from "../../widgets/chart/icicle";
import { Panel } from "../../widgets/Panel";
import { Tabs } from "../../widgets/Tabs";
import { groupings, leaves } from "./paths";

const COLOURS = 10;

/** The self times of the table's rows as parts of parts; a leaf is a row. */
export function TimeTree({
  table,
  selected,
  onSelect,
}: {
  readonly table: Table;
  readonly selected: number | null;
  readonly onSelect: (row: number | null) => void;
}) {
  const ways = useMemo(() => groupings(table), [table]);
  const by = ways.find((one) => one.id === view.value["parts"])?.id ?? ways[0]?.id ?? "";
  const tree = useMemo(() => grow("all ops", leaves(table, by)), [table, by]);
  const category = columnIndex(table, "category");
  const kinds = useMemo(() => new Set(table.rows.map((row) => textAt(row, category) ?? "")), [table, category]);
  const colourOf = (branch: Branch): string => {
    // A leaf and the category over it share a colour; other levels have one by their name.
    const kind = branch.leaf !== null ? (textAt(table.rows[branch.leaf], category) ?? "") : kinds.has(branch.name) ? branch.name : "";
    return categoryVar(kind, "s") ?? `var(--slice-${hashName(branch.name) % COLOURS})`;
  };
  if (ways.length === 0 || tree.value === 0) return null;
  return (
    <Panel
      title="Self time, part by part"
      note="widths are shares of self time; a click opens a part, a leaf is a row of the table"
      picture="ops-parts"
      actions={
        <Tabs
          label="Group ops by"
          tabs={ways}
          selected={by}
          onSelect={(id) => go({ view: { parts: id === ways[0]?.id ? "" : id, into: "" } }, "replace")}
        />
      }
    >
      <Icicle
        label="Self time, part by part"
        tree={tree}
        format={(ps) => formatDuration(ps)}
        colourOf={colourOf}
        focus={pathOf(view.value["into"] ?? "")}
        onFocus={(path) => go({ view: { into: pathText(path) } }, "replace")}
        selected={selected}
        onSelect={(row) => onSelect(row === selected ? null : row)}
      />
    </Panel>
  );
}
