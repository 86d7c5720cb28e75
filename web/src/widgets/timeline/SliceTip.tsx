/** What the pointer is over: at once what the slice itself says, a moment later what the server knows. */

import { useEffect, useState } from "preact/hooks";

import type { EventDetails } from "../../api/timeline";
import { formatBytes, formatDuration, formatInt, formatQuantity, formatShare } from "../../base/format";
import type { Spot } from "./input";
import type { TimelineModel } from "./model";
import type { Picked } from "./picks";

const REST_MS = 120;

export interface SliceTipProps {
  readonly model: TimelineModel;
  /** Where the pointer is on the canvas. */
  readonly at: Spot;
  /** Where the selected slice is on the canvas; null where it is not. */
  readonly keyedAt: () => Spot | null;
  /** Width of the labels beside the canvas. */
  readonly gutter: number;
  readonly width: number;
  readonly height: number;
}

/** A tip is as tall as this at most, about. */
const TALL = 190;

function useDetails(model: TimelineModel, picked: Picked | null): EventDetails | null {
  const [held, setHeld] = useState<{ readonly key: string; readonly details: EventDetails } | null>(null);
  const key = picked === null || picked.event < 0 ? "" : `${picked.track} ${picked.event}`;
  useEffect(() => {
    if (picked === null || key === "") return undefined;
    const abort = new AbortController();
    const timer = setTimeout(() => {
      model
        .details(picked.track, picked.event, abort.signal)
        .then((details) => !abort.signal.aborted && setHeld({ key, details }))
        // A tip that knows less is no fault to report; the panel says what went wrong.
        .catch(() => {});
    }, REST_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [key, model]);
  return held !== null && held.key === key ? held.details : null;
}

/** Follows the pointer; after a key that picks, it stands at what was picked. */
export function SliceTip({ model, at, keyedAt, gutter, width, height }: SliceTipProps) {
  const hovered = model.hovered.value;
  const keyed = hovered === null && model.keyed.value ? model.selected.value : null;
  const picked = hovered ?? keyed;
  const details = useDetails(model, picked);
  const spot = keyed === null ? at : keyedAt();
  if (picked === null || spot === null) return null;
  const x = spot.x + gutter;
  const over = spot.y + TALL > height && spot.y > TALL;
  const place = {
    ...(x > width / 2 ? { right: `${width - x + 14}px` } : { left: `${x + 14}px` }),
    ...(over ? { bottom: `${height - spot.y + 14}px` } : { top: `${spot.y + 14}px` }),
  };
  const merged = picked.count > 1;
  return (
    <div class="tip tl-tip" style={place} aria-hidden="true">
      <strong>{merged ? `${formatInt(picked.count)} events` : picked.name}</strong>
      {merged && <Line name="longest" text={picked.name} />}
      <Line name={merged ? "span" : "duration"} text={formatDuration(picked.duration)} />
      <Line name="start" text={formatDuration(picked.start, 7)} />
      {picked.className !== "" && details?.category == null && <Line name="class" text={picked.className} />}
      {details !== null && <DetailLines details={details} />}
    </div>
  );
}

function DetailLines({ details }: { readonly details: EventDetails }) {
  const source = details.source?.[0];
  const share = (value: number | null | undefined): string => (value == null ? "" : `, ${formatShare(value)} of peak`);
  return (
    <>
      {details.self_ps !== null && details.self_ps !== details.duration_ps && <Line name="self" text={formatDuration(details.self_ps)} />}
      {details.flops != null && <Line name="FLOPs" text={`${formatQuantity(details.flops, "FLOP")}${share(details.flop_share)}`} />}
      {details.bytes != null && <Line name="bytes" text={`${formatBytes(details.bytes)}${share(details.byte_share)}`} />}
      {details.bound_by != null && <Line name="bound by" text={details.bound_by} />}
      {details.category != null && <Line name="category" text={details.category} />}
      {details.module != null && <Line name="module" text={details.module} />}
      {source !== undefined && <Line name="source" text={`${source.file}${source.line === null ? "" : `:${source.line}`}`} />}
    </>
  );
}

function Line({ name, text }: { readonly name: string; readonly text: string }) {
  return (
    <div class="tip-line">
      <span>{name}</span>
      <span>{text}</span>
    </div>
  );
}
