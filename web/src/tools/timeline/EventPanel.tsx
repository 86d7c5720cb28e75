import { useEffect, useState } from "preact/hooks";

import type { EventDetails, FlowEnd } from "../../api/timeline";
import { UNKNOWN, formatBytes, formatDuration, formatInt, formatQuantity, formatShare, formatValue } from "../../base/format";
import { hrefOf } from "../../state/route";
import type { OpName } from "../../widgets/op/card";
import { OpSummary } from "../../widgets/op/OpSummary";
import { ErrorBox } from "../../widgets/States";
import { Panel } from "../../widgets/Panel";
import type { TimelineModel } from "../../widgets/timeline/model";
import type { Picked } from "../../widgets/timeline/picks";
import { viewOf } from "../../widgets/timeline/viewport";
import { flowsOf, goToEvent } from "./walk";

export interface EventPanelProps {
  readonly run: string;
  readonly model: TimelineModel;
  readonly onClose: () => void;
}

interface Known {
  readonly details: EventDetails | null;
  readonly error: unknown;
  readonly reload: () => void;
}

function useDetails(model: TimelineModel, picked: Picked | null): Known {
  const [held, setHeld] = useState<{ readonly key: string; readonly details: EventDetails | null; readonly error: unknown } | null>(null);
  const [attempt, setAttempt] = useState(0);
  const key = picked === null || picked.event < 0 ? "" : `${picked.track} ${picked.event}`;
  useEffect(() => {
    if (picked === null || key === "") return undefined;
    const abort = new AbortController();
    model
      .details(picked.track, picked.event, abort.signal)
      .then((details) => !abort.signal.aborted && setHeld({ key, details, error: null }))
      .catch((error: unknown) => !abort.signal.aborted && setHeld({ key, details: null, error }));
    return () => abort.abort();
  }, [key, model, attempt]);
  const fits = held !== null && held.key === key;
  return { details: fits ? held.details : null, error: fits ? held.error : null, reload: () => setAttempt(attempt + 1) };
}

/** What is known about the event that was picked. */
export function EventPanel({ model, onClose }: EventPanelProps) {
  const picked = model.selected.value;
  const { details: known, error, reload } = useDetails(model, picked);
  if (picked === null) return null;
  const merged = picked.event < 0;
  const op = known === null ? null : opOf(known);
  const name = known?.name ?? picked.name;
  const group = model.tracks.groups.find((one) => one.tracks.some((track) => track.id === picked.track));
  const track = group?.tracks.find((one) => one.id === picked.track);
  return (
    <Panel
      title={name === "" ? "Events" : name}
      class="tl-event"
      actions={
        <>
          <button
            type="button"
            class="quiet"
            onClick={() => model.look(viewOf(model.limits.value, picked.start, picked.start + picked.duration))}
          >
            Zoom to it
          </button>
          <button type="button" class="quiet" onClick={onClose} aria-label="Close details">
            Close
          </button>
        </>
      }
    >
      {error !== null && !merged && <ErrorBox error={error} reload={reload} />}
      {merged && <p>{`${formatInt(picked.count)} events too short to draw one by one at this zoom. Zoom in to see each.`}</p>}
      <dl class="pairs">
        <Pair name="track" text={`${track?.name ?? ""} of ${group?.name ?? ""}`} />
        <Pair name="start" text={formatDuration(known?.start_ps ?? picked.start, 9)} />
        <Pair name={merged ? "span" : "duration"} text={formatDuration(known?.duration_ps ?? picked.duration)} />
        {known !== null && <Pair name="self time" text={formatValue(known.self_ps, "ps")} />}
        {known !== null && <Pair name="step" text={known.step == null ? UNKNOWN : formatInt(known.step)} />}
      </dl>
      {op !== null && (
        <section class="tl-op" aria-label="All executions of this op">
          <h3>All executions of this op</h3>
          <OpSummary key={`${op.name} ${op.module}`} op={op} otherwise={<Links op={op} />} />
        </section>
      )}
      {known !== null && (
        <dl class="pairs">
          <Derived known={known} />
        </dl>
      )}
      <FlowList model={model} picked={picked} />
      {known !== null && <Source known={known} />}
      {known !== null && known.stats.length > 0 && (
        <details class="tl-stats" open>
          <summary>{`What the profile says about it (${known.stats.length})`}</summary>
          <dl class="pairs">
            {known.stats.map((stat) => (
              <Pair name={stat.name} text={formatValue(stat.value, stat.unit ?? "")} />
            ))}
          </dl>
        </details>
      )}
    </Panel>
  );
}

/** The op that the event is an execution of; null where it is of none. */
function opOf(known: EventDetails): OpName | null {
  const { module = null, instruction = null } = known;
  return instruction === null ? null : { name: instruction, module: module ?? "" };
}

/** To the same op on other pages, where the table of ops does not know it. */
function Links({ op }: { readonly op: OpName }) {
  const inModule: Record<string, string> = op.module === "" ? {} : { module: op.module };
  return (
    <p class="leads">
      <a href={hrefOf({ page: "hlo", view: { ...inModule, node: op.name } })} data-nav="hlo">
        HLO
      </a>
      <a href={hrefOf({ page: "memory", view: { ...inModule, buffer: op.name } })} data-nav="memory">
        Memory
      </a>
    </p>
  );
}

function Derived({ known }: { readonly known: EventDetails }) {
  const of = (value: number | null | undefined, share: number | null | undefined, write: (value: number) => string): string => {
    if (value == null) return UNKNOWN;
    return share == null ? write(value) : `${write(value)}, ${formatShare(share)} of peak`;
  };
  const device = known.category != null || known.flops != null || known.bytes != null;
  if (!device) return known.step == null ? null : <Pair name="step" text={formatInt(known.step)} />;
  const peaks = known.peaks ?? null;
  const peakText =
    peaks === null
      ? UNKNOWN
      : [
          peaks.flops === null ? "" : formatQuantity(peaks.flops, "FLOP/s"),
          peaks.hbm === null ? "" : `HBM ${formatQuantity(peaks.hbm, "B/s")}`,
          peaks.source === null ? "" : `from the ${peaks.source}`,
        ]
          .filter(Boolean)
          .join(", ");
  return (
    <>
      <Pair name="category" text={known.category ?? UNKNOWN} />
      <Pair name="module" text={known.module ?? UNKNOWN} />
      <Pair name="framework op" text={known.op_name ?? UNKNOWN} />
      <Pair name="FLOPs, counted for the device" text={of(known.flops, null, (value) => formatQuantity(value, "FLOP"))} />
      <Pair name="FLOP rate" text={of(known.flop_rate, known.flop_share, (value) => formatQuantity(value, "FLOP/s"))} />
      <Pair name="bytes of main memory" text={of(known.bytes, null, formatBytes)} />
      <Pair name="byte rate" text={of(known.byte_rate, known.byte_share, (value) => formatQuantity(value, "B/s"))} />
      <Pair name="bound by" text={known.bound_by ?? UNKNOWN} />
      <Pair name="peaks of the device" text={peakText} />
    </>
  );
}

function Source({ known }: { readonly known: EventDetails }) {
  const frames = known.source ?? [];
  if (frames.length === 0) return null;
  return (
    <div class="tl-source">
      <h3>Source</h3>
      <ol>
        {frames.map((frame) => (
          <li>
            <code>{`${frame.file}${frame.line === null ? "" : `:${frame.line}`}`}</code>
            {frame.function != null && frame.function !== "" && ` in ${frame.function}`}
          </li>
        ))}
      </ol>
    </div>
  );
}

/** What the event waits for and what waits for it, each a way to go. */
function FlowList({ model, picked }: { readonly model: TimelineModel; readonly picked: Picked }) {
  const flows = model.flows.value;
  const [before, after] = [flowsOf(flows, picked, -1), flowsOf(flows, picked, 1)];
  if (before.length + after.length === 0) return null;
  return (
    <div class="tl-flows">
      <h3>Flows</h3>
      {before.length > 0 && <FlowEnds model={model} label="comes from" ends={before} hint="[" />}
      {after.length > 0 && <FlowEnds model={model} label="leads to" ends={after} hint="]" />}
    </div>
  );
}

const SHOWN_ENDS = 8;

interface FlowEndsProps {
  readonly model: TimelineModel;
  readonly label: string;
  readonly ends: readonly FlowEnd[];
  readonly hint: string;
}

function FlowEnds({ model, label, ends, hint }: FlowEndsProps) {
  const where = (end: FlowEnd): string => {
    const group = model.tracks.groups.find((one) => one.tracks.some((track) => track.id === end.track));
    const track = group?.tracks.find((one) => one.id === end.track);
    return `${track?.name ?? "a track"} of ${group?.name ?? "the run"} at ${formatDuration(end.time_ps, 7)}`;
  };
  return (
    <p>
      {`${label} `}
      <kbd>{hint}</kbd>
      {ends.slice(0, SHOWN_ENDS).map((end) => (
        <button
          type="button"
          class="link"
          // What cannot be fetched leaves the picked event where it is.
          onClick={() => void goToEvent(model, end.track, end.event, end.depth, new AbortController().signal).catch(() => {})}
        >
          {where(end)}
        </button>
      ))}
      {ends.length > SHOWN_ENDS && <span class="tl-note">{`and ${ends.length - SHOWN_ENDS} more`}</span>}
    </p>
  );
}

/** Longer texts take a line of their own. */
const LONG = 90;

function Pair({ name, text }: { readonly name: string; readonly text: string }) {
  return (
    <div class={text.length > LONG ? "wide" : undefined}>
      <dt>{name}</dt>
      <dd class={text === UNKNOWN ? "unknown" : ""}>{text}</dd>
    </div>
  );
}
