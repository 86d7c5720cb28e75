/** Every event of an area, each by itself however far the canvas is zoomed out: the server lists them. */

import { useMemo } from "preact/hooks";

import { getSearch } from "../../api/timeline";
import type { Table } from "../../api/types";
import { formatDuration, formatInt } from "../../base/format";
import { useResource } from "../../state/resource";
import { Loaded } from "../../widgets/States";
import { DataTable } from "../../widgets/table/DataTable";
import { downloadCsv } from "../../widgets/table/download";
import type { TimelineModel } from "../../widgets/timeline/model";
import type { Area } from "../../widgets/timeline/scene";
import { eventTable } from "./totals";
import { pickedOfHit } from "./walk";

/** As many as the server lists. */
const MOST = 10_000;

export interface EventsPartProps {
  readonly run: string;
  readonly model: TimelineModel;
  readonly area: Area;
  readonly tracks: readonly number[];
}

export function EventsPart({ run, model, area, tracks }: EventsPartProps) {
  const key = `events ${run} ${area.start} ${area.end} ${tracks.join(",")}`;
  const found = useResource(key, `events ${run}`, (signal) =>
    getSearch(
      run,
      [
        ["start", String(area.start)],
        ["end", String(area.end)],
        ["tracks", tracks.join(",")],
        ["limit", String(MOST)],
      ],
      signal,
    ),
  );
  const hits = found.data?.hits;
  const table = useMemo((): Table => eventTable(hits ?? [], model.tracks.groups), [hits, model]);
  const picked = model.selected.value;
  const at = picked === null || hits === undefined ? -1 : hits.findIndex((one) => one.track === picked.track && one.event === picked.event);
  return (
    <Loaded from={found} what="the events">
      {(data) => (
        <>
          <p class="tl-note tl-events-note">
            {`${formatInt(data.count)} events, ${formatDuration(data.total_ps, 6)} added up with their whole durations; ${formatInt(data.names)} names`}
            {data.count > data.hits.length && `; the first ${formatInt(data.hits.length)} are listed`}
            <button type="button" class="quiet" onClick={() => downloadCsv(table, `${run}-events`)}>
              CSV
            </button>
          </p>
          <DataTable
            table={table}
            selected={at < 0 ? null : at}
            onSelect={(row) => {
              const hit = row === null ? undefined : data.hits[row];
              model.selected.value = hit === undefined ? null : pickedOfHit(hit);
              if (hit !== undefined) model.reveal(hit.start_ps, hit.duration_ps);
            }}
          />
        </>
      )}
    </Loaded>
  );
}
