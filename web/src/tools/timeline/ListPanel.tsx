/** The events in view as a table: the canvas for those who read or listen instead of looking. */

import { useEffect, useMemo, useState } from "preact/hooks";

import type { Table } from "../../api/types";
import { formatInt } from "../../base/format";
import { Panel } from "../../widgets/Panel";
import { DataTable } from "../../widgets/table/DataTable";
import { downloadCsv } from "../../widgets/table/download";
import type { TimelineModel } from "../../widgets/timeline/model";
import type { Picked } from "../../widgets/timeline/picks";
import { slicesInView } from "../../widgets/timeline/picks";

const LIMIT = 5000;
const REST_MS = 250;

interface Shown {
  readonly slices: readonly Picked[];
  readonly more: boolean;
}

function useInView(model: TimelineModel): Shown {
  const [shown, setShown] = useState<Shown>({ slices: [], more: false });
  const tracks = model.onScreen.value;
  const version = model.loader.version.value;
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout>;
    const undo = model.view.subscribe(() => {
      clearTimeout(timer);
      timer = setTimeout(() => setShown(slicesInView(model.loaded, tracks, LIMIT)), REST_MS);
    });
    return () => {
      undo();
      clearTimeout(timer);
    };
  }, [model, tracks, version]);
  return shown;
}

export function ListPanel({ model, onClose }: { readonly model: TimelineModel; readonly onClose: () => void }) {
  const { slices, more } = useInView(model);
  const table = useMemo((): Table => {
    const names = new Map(
      model.tracks.groups.flatMap((group) => group.tracks.map((track) => [track.id, `${group.name} ${track.name}`] as const)),
    );
    return {
      id: "events",
      title: "Events in view",
      columns: [
        { id: "name", label: "Event", unit: "", kind: "text", doc: "" },
        { id: "start_ps", label: "Start", unit: "ps", kind: "duration_ps", doc: "" },
        { id: "duration_ps", label: "Duration", unit: "ps", kind: "duration_ps", doc: "" },
        { id: "track", label: "Track", unit: "", kind: "text", doc: "" },
        { id: "depth", label: "Level", unit: "", kind: "int", doc: "" },
        { id: "class", label: "Class", unit: "", kind: "text", doc: "" },
        {
          id: "count",
          label: "Events",
          unit: "",
          kind: "int",
          doc: "More than one if several are in one pixel; zoom in to separate them",
        },
      ],
      rows: slices.map((one) => [
        one.name,
        one.start,
        one.duration,
        names.get(one.track) ?? "",
        one.depth,
        one.className === "" ? null : one.className,
        one.count,
      ]),
    };
  }, [slices, model]);
  const picked = model.selected.value;
  const at =
    picked === null
      ? -1
      : slices.findIndex((one) => one.track === picked.track && one.start === picked.start && one.depth === picked.depth);
  return (
    <Panel
      title="Events in view"
      note={`${more ? `the first ${formatInt(LIMIT)}` : formatInt(slices.length)} on the tracks on the screen; Enter picks one`}
      class="tl-list"
      flush
      actions={
        <>
          <button type="button" class="quiet" onClick={() => downloadCsv(table, "events-in-view")}>
            CSV
          </button>
          <button type="button" class="quiet" onClick={onClose} aria-label="Close the list">
            Close
          </button>
        </>
      }
    >
      <DataTable
        table={table}
        selected={at < 0 ? null : at}
        onSelect={(row) => (model.selected.value = row === null ? null : (slices[row] ?? null))}
      />
    </Panel>
  );
}
