/** Stacked bars over an ordered axis. Arrow keys go from bar to bar, Enter picks one; the bar is read aloud. */

import { useState } from "preact/hooks";

import { formatDuration, formatShare, formatTick } from "../../base/format";
import { clamp, linearScale } from "../../base/scale";
import { Empty } from "../States";
import { useSize } from "../useSize";
import { Frame } from "./Frame";
import { Legend } from "./Legend";
import type { Stack } from "./stack";
import { labelled, layers, stackAt, total } from "./stack";
import { Tip } from "./Tip";

const HEIGHT = 260;
const LABEL_ROOM = 44;
/** A smaller share of all is not drawn wide enough to see. */
const SEEN = 0.001;

export interface StackChartProps {
  readonly label: string;
  /** What one bar is, such as `step`. */
  readonly unit: string;
  readonly stacks: readonly Stack[];
  readonly onPick?: (index: number) => void;
}

export function StackChart({ label, unit, stacks, onPick }: StackChartProps) {
  const [ref, { width }] = useSize<HTMLDivElement>();
  const [at, setAt] = useState<number | null>(null);
  const most = Math.max(0, ...stacks.map(total));
  if (most <= 0) return <Empty>No times in this scope.</Empty>;
  const box = { left: 64, top: 28, right: Math.max(120, width - 12), bottom: HEIGHT - 40 };
  const y = linearScale([0, most * 1.05], [box.bottom, box.top], 4);
  const slots = linearScale([0, stacks.length], [box.left, box.right]);
  const x = Object.assign((value: number) => slots(value + 0.5), {
    invert: slots.invert,
    ticks: labelled(stacks.length, box.right - box.left, LABEL_ROOM),
  });
  const drawn = layers(stacks, { left: box.left, right: box.right, y });
  const seen = drawn.filter((layer) => layer.sum >= SEEN * drawn.reduce((sum, one) => sum + one.sum, 0));
  const under = (event: MouseEvent & { readonly currentTarget: SVGSVGElement }): number | null =>
    stackAt(event.clientX - event.currentTarget.getBoundingClientRect().left, stacks.length, { left: box.left, right: box.right, y });
  const shown = at === null ? undefined : stacks[at];
  const onKeyDown = (event: KeyboardEvent): void => {
    const last = stacks.length - 1;
    const moves: Record<string, number> = { ArrowLeft: (at ?? 1) - 1, ArrowRight: (at ?? -1) + 1, Home: 0, End: last };
    const move = moves[event.key];
    if (move !== undefined) setAt(clamp(move, 0, last));
    else if ((event.key === "Enter" || event.key === " ") && at !== null) onPick?.(at);
    else if (event.key === "Escape") setAt(null);
    else return;
    event.preventDefault();
  };
  const whole = shown === undefined ? 0 : total(shown);
  const lines = (shown?.parts ?? []).map(
    (part) => [part.name, `${formatDuration(part.value)} · ${formatShare(part.value / whole)}`] as const,
  );
  return (
    <div
      class="chart keys"
      ref={ref}
      tabIndex={0}
      role="group"
      aria-label={`${label}. Arrow keys go from ${unit} to ${unit}.`}
      onKeyDown={onKeyDown}
    >
      <svg
        width={width}
        height={HEIGHT}
        role="img"
        aria-label={`${label}: ${stacks.length} bars, up to ${formatDuration(most)}`}
        onMouseMove={(event) => setAt(under(event))}
        onMouseLeave={() => setAt(null)}
        onClick={(event) => {
          const index = under(event);
          if (index !== null) onPick?.(index);
        }}
      >
        {width > 0 && (
          <Frame box={box} x={x} y={y} formatX={(i) => stacks[i]?.label ?? ""} formatY={formatTick} labelX={unit} labelY="time">
            {drawn.map((layer) => (
              <path class="stack-bar" d={layer.path} fill={layer.colour} />
            ))}
            {at !== null && <line class="cursor-line" x1={x(at)} x2={x(at)} y1={box.top} y2={box.bottom} />}
          </Frame>
        )}
      </svg>
      <Legend items={seen} note={seen.length < drawn.length ? `${drawn.length - seen.length} too small to see` : ""} />
      {shown !== undefined && at !== null && (
        <Tip x={x(at)} y={24} width={width} title={`${unit} ${shown.label}: ${formatDuration(whole)}`} lines={[...lines].reverse()} />
      )}
      <p class="visually-hidden" role="status">
        {shown === undefined ? "" : `${unit} ${shown.label}, ${formatDuration(whole)}: ${lines.map((line) => line.join(" ")).join(", ")}`}
      </p>
    </div>
  );
}
