/** A histogram of times with marks at percentiles. */

import { formatDuration, formatInt, formatTick } from "../../base/format";
import { linearScale } from "../../base/scale";
import { Frame } from "../../widgets/chart/Frame";
import { Empty } from "../../widgets/States";
import { useSize } from "../../widgets/useSize";
import type { Bin } from "./latency";

const HEIGHT = 220;

export interface Mark {
  readonly label: string;
  readonly value: number;
}

export function Histogram({
  label,
  bins,
  marks,
}: {
  readonly label: string;
  readonly bins: readonly Bin[];
  readonly marks: readonly Mark[];
}) {
  const [ref, { width }] = useSize<HTMLDivElement>();
  const [first, last] = [bins[0], bins.at(-1)];
  if (first === undefined || last === undefined) return <Empty>No latencies in this scope.</Empty>;
  const box = { left: 52, top: 40, right: Math.max(120, width - 16), bottom: HEIGHT - 40 };
  const flat = first.from === last.to;
  const domain = flat ? ([first.from * 0.9, first.from * 1.1 || 1] as const) : ([first.from, last.to] as const);
  const x = linearScale(domain, [box.left, box.right], Math.max(2, Math.floor((box.right - box.left) / 90)));
  const most = Math.max(...bins.map((bin) => bin.count));
  const counts = linearScale([0, most * 1.05], [box.bottom, box.top], 4);
  const y = Object.assign((value: number) => counts(value), { invert: counts.invert, ticks: counts.ticks.filter(Number.isInteger) });
  const bar = (bin: Bin): string => {
    const [from, to] = flat ? [x(bin.from) - 8, x(bin.from) + 8] : [x(bin.from), Math.max(x(bin.from) + 1, x(bin.to) - 1)];
    return `M${from.toFixed(1)} ${box.bottom}V${y(bin.count).toFixed(1)}H${to.toFixed(1)}V${box.bottom}z`;
  };
  const said = marks.map((mark) => `${mark.label} ${formatDuration(mark.value)}`).join(", ");
  return (
    <div class="chart" ref={ref}>
      <svg
        width={width}
        height={HEIGHT}
        role="img"
        aria-label={`${label}: ${formatInt(bins.reduce((sum, bin) => sum + bin.count, 0))} between ${formatDuration(first.from)} and ${formatDuration(last.to)}; ${said}`}
      >
        {width > 0 && (
          <Frame box={box} x={x} y={y} formatX={formatTick} formatY={formatInt} labelX="latency" labelY="requests">
            <path class="hist-bar" d={bins.map(bar).join("")} />
            {marks.map((mark, i) => (
              <>
                <line class="quantile" x1={x(mark.value)} x2={x(mark.value)} y1={box.top} y2={box.bottom} />
                <text
                  class="quantile-label"
                  x={x(mark.value)}
                  y={box.top - 4 - (i % 2) * 13}
                  text-anchor={x(mark.value) > width - 60 ? "end" : "middle"}
                >
                  {mark.label}
                </text>
              </>
            ))}
          </Frame>
        )}
      </svg>
    </div>
  );
}
