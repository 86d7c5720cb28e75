import { getEvent } from "../../api/client";
import type { EventDetails } from "../../api/types";
import { formatDuration, formatInt, formatValue } from "../../base/format";
import { useResource } from "../../state/resource";
import { ErrorBox } from "../../widgets/States";
import { Panel } from "../../widgets/Panel";
import type { TimelineModel } from "../../widgets/timeline/model";
import type { Picked } from "../../widgets/timeline/renderer";
import { viewOf } from "../../widgets/timeline/viewport";

export interface EventPanelProps {
  readonly run: string;
  readonly model: TimelineModel;
  readonly picked: Picked | null;
  readonly onClose: () => void;
}

/** What is known about the event that was clicked. */
export function EventPanel({ run, model, picked, onClose }: EventPanelProps) {
  const event = picked?.slice[5] ?? -1;
  const merged = picked !== null && event < 0;
  const key = picked === null || merged ? null : `event ${run} ${picked.track} ${event}`;
  const details = useResource<EventDetails>(key, `event ${run}`, (signal) => getEvent(run, picked?.track ?? 0, event, signal));
  if (picked === null) {
    return <p class="tl-hint">Click an event for its details. Shift and drag to measure. Press ? for all keys.</p>;
  }
  const [start, duration, , , count] = picked.slice;
  const known = merged || details.loading ? null : details.data;
  const name = known?.name ?? model.nameOf(picked);
  const track = model.tracks.groups.flatMap((group) => group.tracks).find((one) => one.id === picked.track);
  return (
    <Panel
      title={name === "" ? "Events" : name}
      class="details"
      actions={
        <>
          <button type="button" class="quiet" onClick={() => model.look(viewOf(model.bounds, start, start + duration))}>
            Zoom to it
          </button>
          <button type="button" class="quiet" onClick={onClose} aria-label="Close details">
            Close
          </button>
        </>
      }
    >
      {details.error !== null && !merged && <ErrorBox error={details.error} reload={details.reload} />}
      {merged && <p>{`${formatInt(count)} events too short to draw one by one at this zoom. Zoom in to see each.`}</p>}
      <dl class="pairs" aria-live="polite">
        <Pair name="track" text={track?.name ?? ""} />
        <Pair name="start" text={formatDuration(known?.start_ps ?? start, 9)} />
        <Pair name={merged ? "span" : "duration"} text={formatDuration(known?.duration_ps ?? duration)} />
        {known !== null && <Pair name="self time" text={formatValue(known.self_ps, "ps")} />}
        {known?.stats.map((stat) => (
          <Pair name={stat.name} text={formatValue(stat.value, stat.unit ?? "")} />
        ))}
      </dl>
    </Panel>
  );
}

function Pair({ name, text }: { readonly name: string; readonly text: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{text}</dd>
    </div>
  );
}
