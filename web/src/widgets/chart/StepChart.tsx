/** Step times: bars for one device, dots by device for several; odd steps stand out. */

import { useMemo, useState } from "preact/hooks";

import { assignColours, seriesVar } from "../../base/colour";
import { formatDuration, formatInt, formatTick } from "../../base/format";
import { extent, linearScale } from "../../base/scale";
import { Empty } from "../States";
import { useSize } from "../useSize";
import { Frame } from "./Frame";
import { Legend } from "./Legend";
import type { StepPoint } from "./steps";
import { isUsual, marks, nearest } from "./steps";
import { Tip } from "./Tip";

const HEIGHT = 226;
const NAMED_DEVICES = 8;

export interface StepChartProps {
  readonly points: readonly StepPoint[];
  readonly onPick?: (row: number) => void;
}

export function StepChart({ points, onPick }: StepChartProps) {
  const [ref, { width }] = useSize<HTMLDivElement>();
  const [hover, setHover] = useState<StepPoint | null>(null);
  const colours = useMemo(() => assignColours(points.map((p) => p.device)), [points]);
  const steps = extent(points.map((p) => p.step));
  const times = extent(points.map((p) => p.durationPs));
  if (steps === null || times === null) return <Empty>No step times in this scope.</Empty>;

  const box = { left: 64, top: 28, right: Math.max(120, width - 12), bottom: HEIGHT - 40 };
  const x = linearScale([steps[0] - 0.5, steps[1] + 0.5], [box.left, box.right], Math.max(2, Math.floor((box.right - box.left) / 70)));
  const wholeTicks = Object.assign((value: number) => x(value), { invert: x.invert, ticks: x.ticks.filter(Number.isInteger) });
  const y = linearScale([0, times[1] * 1.05], [box.bottom, box.top], 4);
  // Devices stand side by side inside a step's slot, so that equal times do not hide one another.
  const slot = (box.right - box.left) / (steps[1] - steps[0] + 1);
  const room = (slot * 0.76) / Math.max(1, colours.size);
  // Bars show lengths; where there is no room for a bar per device, dots show where the times lie.
  const bars = room >= (colours.size === 1 ? 1 : 3) && points.length <= 1000;
  const dodge = bars ? Math.min(room, 28) : Math.min(7, room);
  const place = (p: StepPoint): number => x(p.step) + ((colours.get(p.device) ?? 0) - (colours.size - 1) / 2) * dodge;
  const odd = points.filter((p) => !isUsual(p.kind));
  const kinds = [...new Set(odd.map((p) => p.kind))];

  const pointAt = (event: MouseEvent & { readonly currentTarget: SVGSVGElement }): StepPoint | null => {
    const rect = event.currentTarget.getBoundingClientRect();
    return nearest(points, x, y, event.clientX - rect.left, event.clientY - rect.top);
  };
  const stroke = bars ? Math.max(1, dodge - (colours.size > 1 && dodge > 4 ? 1 : 0)) : 5;
  return (
    <div class="chart" ref={ref}>
      <svg
        width={width}
        height={HEIGHT}
        role="img"
        aria-label={`Step times: ${formatInt(points.length)} points, ${formatDuration(times[0])} to ${formatDuration(times[1])}`}
        onMouseMove={(event) => setHover(pointAt(event))}
        onMouseLeave={() => setHover(null)}
        onClick={(event) => {
          const point = pointAt(event);
          if (point !== null) onPick?.(point.row);
        }}
      >
        {width > 0 && (
          <Frame box={box} x={wholeTicks} y={y} formatX={String} formatY={formatTick} labelX="step" labelY="step time">
            {[...colours].map(([device, colour]) => {
              const own = points.filter((p) => p.device === device && isUsual(p.kind));
              return (
                <path
                  class={bars ? "bars" : "dots"}
                  d={marks(own, place, y, bars ? box.bottom : null)}
                  stroke={seriesVar(colour)}
                  stroke-width={stroke}
                />
              );
            })}
            <path class={bars ? "bars odd" : "dots odd"} d={marks(odd, place, y, bars ? box.bottom : null)} stroke-width={stroke} />
            {hover !== null && <line class="cursor-line" x1={x(hover.step)} x2={x(hover.step)} y1={box.top} y2={box.bottom} />}
          </Frame>
        )}
      </svg>
      <Legend
        items={[
          ...(colours.size > 1 && colours.size <= NAMED_DEVICES
            ? [...colours].map(([name, colour]) => ({ name, colour: seriesVar(colour) }))
            : []),
          ...(kinds.length > 0 ? [{ name: kinds.join(", "), colour: "var(--odd)" }] : []),
        ]}
        note={colours.size > NAMED_DEVICES ? `${colours.size} devices` : ""}
      />
      {hover !== null && (
        <Tip
          x={x(hover.step)}
          y={24}
          width={width}
          title={`Step ${hover.step}`}
          lines={[["time", formatDuration(hover.durationPs)], ...lineIf("device", hover.device), ...lineIf("class", hover.kind)]}
        />
      )}
    </div>
  );
}

function lineIf(name: string, value: string): [string, string][] {
  return value === "" ? [] : [[name, value]];
}
