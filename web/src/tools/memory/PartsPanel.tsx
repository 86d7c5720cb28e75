import { useMemo } from "preact/hooks";

import { columnIndex } from "../../api/read";
import type { Table } from "../../api/types";
import { formatBytes, formatInt } from "../../base/format";
import { go, view } from "../../state/route";
import { Treemap } from "../../widgets/chart/Treemap";
import { Panel } from "../../widgets/Panel";
import { Tabs } from "../../widgets/Tabs";
import { BufferPanel } from "./BufferPanel";
import { BY, NAMELESS, byColumn, partsBy, partsOf, rowsHolding, rowsOf } from "./parts";

export interface PartsPanelProps {
  /** Tables of the buffers at the peak; of several that can be summed in one way, the first is taken. */
  readonly tables: readonly Table[];
  /** Sums of the report's own, for what no column of a buffer says alone. */
  readonly sums?: readonly Table[];
  /** What tiles stand for where the address does not say. */
  readonly first: string;
  readonly name: string;
}

/** The bytes at the peak as tiles, and under them the buffers, of one tile where one is picked. */
export function PartsPanel({ tables, sums = [], first, name }: PartsPanelProps) {
  const sumsOf = (id: string): Table | undefined => sums.find((one) => one.id === `by_${id}`);
  const ways = BY.filter((by) => sumsOf(by.id) !== undefined || tables.some((table) => byColumn(table, by.id) >= 0));
  const by = ways.find((way) => way.id === view.value["by"])?.id ?? ways.find((way) => way.id === first)?.id ?? ways[0]?.id ?? "";
  const table = tables.find((one) => byColumn(one, by) >= 0) ?? tables[0];
  const column = table === undefined ? -1 : byColumn(table, by);
  const summed = sumsOf(by);
  const parts = useMemo(
    () => (table !== undefined && column >= 0 ? partsBy(table, column) : summed === undefined ? [] : partsOf(summed)),
    [table, column, summed],
  );
  const asked = view.value["part"] ?? "";
  const part = parts.some((one) => one.name === asked) ? asked : null;
  const shown = useMemo(() => {
    if (table === undefined || part === null) return table;
    return column >= 0 ? rowsOf(table, column, part) : rowsHolding(table, columnIndex(table, "op_name"), part === NAMELESS ? "" : part);
  }, [table, column, part]);
  if (table === undefined || shown === undefined) return null;
  const label = ways.find((way) => way.id === by)?.label ?? "";
  return (
    <>
      {ways.length > 0 && (
        <Panel
          title={`What the peak is made of, by ${label}`}
          note="a click on a tile filters the table below"
          picture="memory-parts"
          actions={
            <Tabs
              label="Tiles show"
              tabs={ways}
              selected={by}
              onSelect={(id) => go({ view: { by: id === first ? "" : id, part: "" } }, "replace")}
            />
          }
        >
          <Treemap
            label={`Bytes at the peak by ${label}`}
            parts={parts}
            format={(bytes) => formatBytes(bytes)}
            selected={part}
            onSelect={(next) => go({ view: { part: next ?? "" } }, "replace")}
          />
        </Panel>
      )}
      <BufferPanel
        key={table.id}
        table={shown}
        name={name}
        picks
        note={
          part === null
            ? `${formatInt(shown.rows.length)} buffers`
            : `${formatInt(shown.rows.length)} of ${formatInt(table.rows.length)} buffers, ${column >= 0 ? "of" : "with an op name that contains"} ${part}`
        }
      />
    </>
  );
}
