/** A panel of bars over a report's table; nothing where the table or its columns are absent. */

import type { ComponentChildren } from "preact";

import { columnIndex } from "../api/read";
import type { Table } from "../api/types";
import { markIn } from "../state/mark";
import { Bars } from "../widgets/chart/Bars";
import { Panel } from "../widgets/Panel";
import type { BarSpec } from "./bars";
import { drawn, firstOf } from "./bars";

export interface BarPanelProps {
  readonly table: Table | null;
  readonly spec: BarSpec;
  readonly title: string;
  readonly note?: string;
  /** What a row is, in the plural. */
  readonly what: string;
  readonly picture: string;
  readonly legend?: boolean;
  /** The value of a bar that fills its track; else the largest. */
  readonly full?: number;
  readonly onPick?: (name: string) => void;
  readonly actions?: ComponentChildren;
  /** Below the bars. */
  readonly children?: ComponentChildren;
}

export function BarPanel(props: BarPanelProps) {
  const { table, spec, title, note = "", what, picture, legend = spec.parts.length > 1, onPick } = props;
  const bars = drawn(table, spec);
  if (table === null || bars.rows.length === 0) return null;
  const number = table.columns[columnIndex(table, spec.parts[0]?.id ?? "")];
  return (
    <Panel title={title} note={`${firstOf(bars, what)}${note}`.replace(/; $/, "")} picture={picture} actions={props.actions} of={number}>
      <Bars
        rows={bars.rows}
        full={Math.max(bars.full, props.full ?? 0)}
        legend={legend}
        marked={markIn(table.id)}
        {...(onPick === undefined ? {} : { onPick })}
      />
      {props.children}
    </Panel>
  );
}
