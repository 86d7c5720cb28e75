/** A histogram over classes of length: bars of equal width, because the classes grow by factors. */

import { formatDuration, formatInt, formatTick } from "../../base/format";
import { useSize } from "../../widgets/useSize";
import type { LengthBar } from "./histogram";
import { placeOf } from "./histogram";

const HEIGHT = 150;
const BOTTOM = 22;
const TOP = 16;
const LEFT = 8;

export interface LengthChartProps {
  readonly bars: readonly LengthBar[];
  readonly of: "count" | "time";
  /** Where the executions of one kernel lie. */
  readonly mark: { readonly name: string; readonly min: number; readonly mean: number; readonly max: number } | null;
}

export function LengthChart({ bars, of, mark }: LengthChartProps) {
  const [ref, { width }] = useSize<HTMLDivElement>();
  const value = (bar: LengthBar): number => (of === "count" ? bar.count : bar.time);
  const most = bars.reduce((largest, bar) => Math.max(largest, value(bar)), 0);
  const wide = bars.length > 0 ? Math.min(120, (width - 2 * LEFT) / bars.length) : 0;
  const floor = HEIGHT - BOTTOM;
  const x = (place: number): number => LEFT + place * wide;
  // Each label has a bound's width; where bars are narrow, not every bound has room.
  const every = Math.max(1, Math.ceil(56 / Math.max(1, wide)));
  const said = bars.map((bar) => `${bar.label}: ${formatInt(bar.count)} executions, ${formatDuration(bar.time)}`);
  const places = mark === null ? [] : [mark.min, mark.mean, mark.max].map((length) => placeOf(bars, length));
  const [low, middle, high] = places;
  return (
    <div class="chart length-chart" ref={ref}>
      {width > 0 && (
        <svg width={width} height={HEIGHT} role="img" aria-label={`Executions by length. ${said.join("; ")}`}>
          {bars.map((bar, i) => {
            const high = most > 0 ? (value(bar) / most) * (floor - TOP) : 0;
            // One execution among a million is still there.
            const shown = value(bar) > 0 ? Math.max(2, high) : 0;
            return (
              <g key={bar.from}>
                <title>{said[i]}</title>
                <rect x={x(i)} y={TOP} width={wide} height={floor - TOP} fill="transparent" />
                <rect class="length-bar" x={x(i) + 1} y={floor - shown} width={Math.max(1, wide - 2)} height={shown} />
                {wide > 34 && value(bar) > 0 && (
                  <text class="length-value" x={x(i) + wide / 2} y={floor - shown - 4} text-anchor="middle">
                    {of === "count" ? formatInt(bar.count) : formatTick(bar.time)}
                  </text>
                )}
              </g>
            );
          })}
          <g class="axis" aria-hidden="true">
            <line x1={LEFT} x2={x(bars.length)} y1={floor} y2={floor} />
            {[...bars.map((bar) => bar.from), bars.at(-1)?.to ?? 0].map((bound, i) =>
              i % every === 0 ? (
                <text x={Math.max(x(i), 14)} y={floor + 15} text-anchor={i === bars.length ? "end" : "middle"}>
                  {formatTick(bound)}
                </text>
              ) : null,
            )}
          </g>
          {low !== null && low !== undefined && high !== null && high !== undefined && (
            <g class="length-mark">
              <line x1={x(low)} x2={Math.max(x(high), x(low) + 2)} y1={floor + 1} y2={floor + 1} />
              {middle !== null && middle !== undefined && <circle cx={x(middle)} cy={floor + 1} r={4} />}
            </g>
          )}
        </svg>
      )}
    </div>
  );
}
