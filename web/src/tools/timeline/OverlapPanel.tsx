/** How much of the transfers compute hides, and how long devices stood still inside steps. */

import { useMemo } from "preact/hooks";

import type { Table } from "../../api/types";
import type { DeviceOverlap } from "../../api/timeline";
import { formatDuration, formatShare } from "../../base/format";
import { Panel } from "../../widgets/Panel";
import { Empty, ErrorBox, Loading } from "../../widgets/States";
import { DataTable } from "../../widgets/table/DataTable";
import { downloadCsv } from "../../widgets/table/download";
import type { TimelineModel } from "../../widgets/timeline/model";

function stepTable(devices: readonly DeviceOverlap[]): Table {
  return {
    id: "bubbles",
    title: "Bubbles in each step",
    columns: [
      { id: "step", label: "Step", unit: "", kind: "int", doc: "" },
      { id: "device", label: "Device", unit: "", kind: "text", doc: "" },
      { id: "span_ps", label: "Step time", unit: "ps", kind: "duration_ps", doc: "" },
      { id: "busy_ps", label: "Busy", unit: "ps", kind: "duration_ps", doc: "Time in which the device ran an op" },
      { id: "gap_ps", label: "Bubbles", unit: "ps", kind: "duration_ps", doc: "Time inside the step in which the device ran nothing" },
      { id: "gap_share", label: "Share", unit: "1", kind: "share", doc: "Bubbles as a share of the step time" },
      { id: "gaps", label: "Number", unit: "", kind: "int", doc: "" },
      { id: "largest_ps", label: "Longest", unit: "ps", kind: "duration_ps", doc: "" },
    ],
    rows: devices.flatMap((device) =>
      device.steps.map((step) => [
        step.number,
        device.device,
        step.span_ps,
        step.busy_ps,
        step.gap_ps,
        step.span_ps > 0 ? step.gap_ps / step.span_ps : null,
        step.gaps,
        step.largest_ps,
      ]),
    ),
  };
}

/** The gaps of each step as a table. */
export function BubblePanel({ model }: { readonly model: TimelineModel }) {
  const devices = model.overlap.value;
  const table = useMemo(() => stepTable(devices), [devices]);
  const error = model.overlapError.value;
  if (error !== null) return <ErrorBox error={error} />;
  if (!model.overlapKnown.value) return <Loading what="bubbles" />;
  return (
    <Panel
      title="Bubbles in each step"
      note="gaps between ops, of the devices in view"
      flush
      actions={
        <button type="button" class="quiet" onClick={() => downloadCsv(table, "bubbles")}>
          CSV
        </button>
      }
    >
      {table.rows.length === 0 ? <p class="table-empty">No step is in view.</p> : <DataTable table={table} />}
    </Panel>
  );
}

/** How much of the transfers compute hides, in one line. */
export function HiddenBar({ model }: { readonly model: TimelineModel }) {
  if (!model.showOverlap.value) return null;
  const error = model.overlapError.value;
  if (error !== null) return model.showBubbles.value ? null : <ErrorBox error={error} />;
  return model.overlapKnown.value ? <Hidden devices={model.overlap.value} /> : <Loading what="overlap" />;
}

function Hidden({ devices }: { readonly devices: readonly DeviceOverlap[] }) {
  const some = devices.flatMap(({ device, async_ps: all, exposed_ps: exposed }) =>
    all === null || exposed === null || all === 0 ? [] : [{ device, all, exposed }],
  );
  if (some.length === 0) return <Empty>The profile shows no transfer or other asynchronous work in view.</Empty>;
  return (
    <div class="tl-bar tl-hidden" role="group" aria-label="Overlap of asynchronous work with compute, in view">
      <span>
        <span class="swatch" style={{ background: "var(--tl-hidden)" }} aria-hidden="true" /> hidden behind compute
      </span>
      <span>
        <span class="swatch" style={{ background: "var(--tl-exposed)" }} aria-hidden="true" /> exposed
      </span>
      {some.slice(0, 8).map((device) => (
        <span>
          {`${device.device}: ${formatDuration(device.exposed, 3)} of ${formatDuration(device.all, 3)} exposed (${formatShare(device.exposed / device.all)})`}
        </span>
      ))}
      {some.length > 8 && <span>{`and ${some.length - 8} more devices`}</span>}
    </div>
  );
}
