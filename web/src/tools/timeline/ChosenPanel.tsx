/** Several events that were picked together: each, what they take in all, and the time from the first to the last. */

import { useMemo, useState } from "preact/hooks";

import { formatDuration, formatInt } from "../../base/format";
import { Panel } from "../../widgets/Panel";
import { TableExport } from "../../widgets/Export";
import { DataTable } from "../../widgets/table/DataTable";
import type { TimelineModel } from "../../widgets/timeline/model";
import { chosenTable, sumsOf } from "./chosen";

export function ChosenPanel({ model }: { readonly model: TimelineModel }) {
  const chosen = model.chosen.value;
  const table = useMemo(() => chosenTable(chosen, model.tracks.groups), [chosen, model]);
  const sums = useMemo(() => sumsOf(chosen), [chosen]);
  const [row, setRow] = useState<number | null>(null);
  const area = (): void => {
    model.step.value = null;
    model.area.value = { start: sums.start, end: Math.max(sums.end, sums.start + 1), tracks: [...new Set(chosen.map((one) => one.track))] };
  };
  return (
    <Panel
      title={sums.events === 1 ? "1 event" : `${formatInt(sums.events)} events`}
      class="tl-chosen"
      flush
      actions={
        <>
          <button type="button" class="quiet" onClick={area}>
            Select their area
          </button>
          <TableExport table={table} name="chosen-events" />
          <button type="button" class="quiet" onClick={() => (model.chosen.value = [])}>
            Close
          </button>
        </>
      }
    >
      <dl class="tl-sums pairs">
        <Sum name="sum of their lengths" ps={sums.total} />
        <Sum name="first start to last end" ps={sums.end - sums.start} />
        <Sum name="in which one of them runs" ps={sums.covered} />
      </dl>
      <DataTable
        table={table}
        selected={row}
        onSelect={(next) => {
          setRow(next);
          const one = next === null ? undefined : chosen[next];
          if (one !== undefined) model.reveal(one.start, one.duration);
        }}
      />
    </Panel>
  );
}

function Sum({ name, ps }: { readonly name: string; readonly ps: number }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd data-exact={ps}>{formatDuration(ps, 6)}</dd>
    </div>
  );
}
