/** What each step's time goes to: a bar a step, its parts one on the other. */

import { useState } from "preact/hooks";

import { formatDuration, formatShare, formatTick } from "../../base/format";
import { linearScale } from "../../base/scale";
import { useSize } from "../useSize";
import { Frame } from "./Frame";
import { Legend } from "./Legend";
import { Tip } from "./Tip";

export interface StackBar {
  /** Number on the axis. */
  readonly at: number;
  /** Said after the number, such as the device. */
  readonly note: string;
  /** As many as there are parts; null where not known. */
  readonly values: readonly (number | null)[];
  /** What a click selects. */
  readonly row: number;
}

export interface StackChartProps {
  readonly label: string;
  readonly parts: readonly { readonly name: string; readonly colour: string }[];
  readonly bars: readonly StackBar[];
  readonly onPick?: (row: number) => void;
}

const HEIGHT = 226;

function total(bar: StackBar): number {
  return bar.values.reduce((sum: number, value) => sum + (value ?? 0), 0);
}

export function StackChart({ label, parts, bars, onPick }: StackChartProps) {
  const [ref, { width }] = useSize<HTMLDivElement>();
  const [hover, setHover] = useState<StackBar | null>(null);
  const first = bars[0];
  if (first === undefined) return <p class="empty">No steps in this scope.</p>;
  const low = bars.reduce((least, bar) => Math.min(least, bar.at), first.at);
  const high = bars.reduce((most, bar) => Math.max(most, bar.at), first.at);
  const most = bars.reduce((sum, bar) => Math.max(sum, total(bar)), 0);
  const box = { left: 64, top: 28, right: Math.max(120, width - 12), bottom: HEIGHT - 40 };
  const x = linearScale([low - 0.5, high + 0.5], [box.left, box.right], Math.max(2, Math.floor((box.right - box.left) / 70)));
  const wholeTicks = Object.assign((value: number) => x(value), { invert: x.invert, ticks: x.ticks.filter(Number.isInteger) });
  const y = linearScale([0, most * 1.05], [box.bottom, box.top], 4);
  const slot = (box.right - box.left) / (high - low + 1);
  const stroke = Math.min(64, Math.max(1, slot * 0.72));
  // One path a part: thousands of steps stay a handful of elements.
  const sums = bars.map(() => 0);
  const paths = parts.map((_, i) =>
    bars
      .map((bar, b) => {
        const value = bar.values[i] ?? 0;
        const from = sums[b] ?? 0;
        sums[b] = from + value;
        return value > 0 ? `M${x(bar.at).toFixed(1)} ${y(from).toFixed(2)}V${y(from + value).toFixed(2)}` : "";
      })
      .join(""),
  );
  const under = (event: MouseEvent & { readonly currentTarget: SVGSVGElement }): StackBar | null => {
    const at = Math.round(x.invert(event.clientX - event.currentTarget.getBoundingClientRect().left));
    return bars.find((bar) => bar.at === at) ?? null;
  };
  const known = parts.filter((_, i) => paths[i] !== "");
  return (
    <div class="chart" ref={ref}>
      <svg
        width={width}
        height={HEIGHT}
        role="img"
        aria-label={`${label}; the tables below have the numbers`}
        onMouseMove={(event) => setHover(under(event))}
        onMouseLeave={() => setHover(null)}
        onClick={(event) => {
          const bar = under(event);
          if (bar !== null) onPick?.(bar.row);
        }}
      >
        {width > 0 && (
          <Frame box={box} x={wholeTicks} y={y} formatX={String} formatY={formatTick} labelX="step" labelY="time">
            {paths.map((path, i) => path !== "" && <path class="bars" d={path} stroke={parts[i]?.colour} stroke-width={stroke} />)}
            {hover !== null && <line class="cursor-line" x1={x(hover.at)} x2={x(hover.at)} y1={box.top} y2={box.bottom} />}
          </Frame>
        )}
      </svg>
      <Legend items={known} />
      {hover !== null && (
        <Tip
          x={x(hover.at)}
          y={24}
          width={width}
          title={`Step ${hover.at}${hover.note === "" ? "" : `, ${hover.note}`}`}
          lines={parts.flatMap((part, i): [string, string][] => {
            const value = hover.values[i] ?? null;
            return value === null || value === 0 ? [] : [[part.name, `${formatDuration(value)} · ${formatShare(value / total(hover))}`]];
          })}
        />
      )}
    </div>
  );
}
