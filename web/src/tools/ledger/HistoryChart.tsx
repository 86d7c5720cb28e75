/** One metric over the entries: points, the levels that they lie at, and where those changed. */

import { useState } from "preact/hooks";

import { formatMixed } from "../../base/format";
import { clamp, extent, linearScale } from "../../base/scale";
import { Frame } from "../../widgets/chart/Frame";
import { Legend } from "../../widgets/chart/Legend";
import { Tip } from "../../widgets/chart/Tip";
import { Empty } from "../../widgets/States";
import { useSize } from "../../widgets/useSize";
import type { History, HistoryPoint } from "./history";

const HEIGHT = 210;
/** Room above and below the points, as a share of what they span. */
const AROUND = 0.15;
const MARK = 5;

export interface HistoryChartProps {
  readonly history: History;
  /** The entry that is looked at. */
  readonly selected: number | null;
  readonly onPick: (entry: number) => void;
}

export function HistoryChart({ history, selected, onPick }: HistoryChartProps) {
  const [ref, { width }] = useSize<HTMLDivElement>();
  const [hover, setHover] = useState<HistoryPoint | null>(null);
  const { points, changes, levels, unit } = history;
  const entries = extent(points.map((point) => point.entry));
  const values = extent(points.map((point) => point.value));
  if (entries === null || values === null) return <Empty>No entry has this metric.</Empty>;
  const say = (value: number): string => formatMixed(value, unit);
  const box = { left: 76, top: 28, right: Math.max(140, width - 12), bottom: HEIGHT - 40 };
  const span = values[1] - values[0] || Math.abs(values[1]) * 0.1 || 1;
  // What never is below 0 does not get an axis that is.
  const low = values[0] - AROUND * span;
  const domain = [values[0] >= 0 ? Math.max(0, low) : low, values[1] + AROUND * span] as const;
  const room = Math.max(2, Math.floor((box.right - box.left) / 60));
  const scale = linearScale([entries[0] - 0.5, entries[1] + 0.5], [box.left, box.right], room);
  const x = Object.assign((value: number) => scale(value), { invert: scale.invert, ticks: scale.ticks.filter(Number.isInteger) });
  const y = linearScale(domain, [box.bottom, box.top], 4);
  const at = points.findIndex((point) => point.entry === selected);
  const nearest = (event: MouseEvent & { readonly currentTarget: SVGSVGElement }): HistoryPoint | null => {
    const entry = x.invert(event.clientX - event.currentTarget.getBoundingClientRect().left);
    return points.reduce<HistoryPoint | null>(
      (best, point) => (best === null || Math.abs(point.entry - entry) < Math.abs(best.entry - entry) ? point : best),
      null,
    );
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const last = points.length - 1;
    const moves: Record<string, number> = { ArrowLeft: at < 0 ? last : at - 1, ArrowRight: at + 1, Home: 0, End: last };
    const to = points[clamp(moves[event.key] ?? -1, 0, last)];
    if (moves[event.key] === undefined || to === undefined) return;
    onPick(to.entry);
    event.preventDefault();
  };
  const odd = points.some((point) => point.kind !== "");
  const shown = hover ?? points[at] ?? null;
  return (
    <div ref={ref} class="chart history">
      <div
        class="keys"
        tabIndex={0}
        role="group"
        aria-label={`${history.label} over the entries. Arrow keys go from entry to entry.`}
        onKeyDown={onKeyDown}
      >
        <svg
          width={width}
          height={HEIGHT}
          role="img"
          aria-label={`${history.label}: ${points.length} entries, ${say(values[0])} to ${say(values[1])}, ${changes.length} changes`}
          onMouseMove={(event) => setHover(nearest(event))}
          onMouseLeave={() => setHover(null)}
          onClick={(event) => {
            const point = nearest(event);
            if (point !== null) onPick(point.entry);
          }}
        >
          {width > 0 && (
            <Frame box={box} x={x} y={y} formatX={String} formatY={say} labelX="entry" labelY={history.label.toLowerCase()}>
              {levels.map((level) => (
                <line class="history-level" x1={x(level.from - 0.4)} x2={x(level.to + 0.4)} y1={y(level.value)} y2={y(level.value)} />
              ))}
              {changes.map((change) => (
                <g class={`history-change ${change.verdict}`}>
                  <line x1={x(change.entry - 0.5)} x2={x(change.entry - 0.5)} y1={box.top} y2={box.bottom} />
                  <path d={arrow(x(change.entry - 0.5), box.top, change.after > change.before)} />
                </g>
              ))}
              {points.map((point) => (
                <circle
                  key={point.entry}
                  class={`history-point ${point.kind}${point.entry === selected ? " selected" : ""}`}
                  cx={x(point.entry)}
                  cy={y(point.value)}
                  r={point.entry === shown?.entry ? 5 : 3.5}
                />
              ))}
            </Frame>
          )}
        </svg>
      </div>
      <Legend
        items={[
          ...(changes.some((change) => change.verdict === "worse") ? [{ name: "change for the worse", colour: "var(--bad)" }] : []),
          ...(changes.some((change) => change.verdict === "better") ? [{ name: "change for the better", colour: "var(--good)" }] : []),
          ...(changes.some((change) => change.verdict === "different") ? [{ name: "change", colour: "var(--muted)" }] : []),
        ]}
        note={odd ? "hollow: an outlier or a reverted attempt" : ""}
      />
      {hover !== null && (
        <Tip
          x={x(hover.entry)}
          y={24}
          width={width}
          title={`Entry ${hover.entry}`}
          lines={[
            [history.label, say(hover.value)],
            ...(hover.kind === "" ? [] : [["", hover.kind === "outlier" ? "stands alone" : "taken back"] as const]),
          ]}
        />
      )}
    </div>
  );
}

/** Which way the level went, so that colour is not alone in saying it. */
function arrow(x: number, top: number, up: boolean): string {
  const [tip, foot] = up ? [top - MARK, top + MARK] : [top + MARK, top - MARK];
  return `M${x.toFixed(1)} ${tip}L${(x + MARK).toFixed(1)} ${foot}H${(x - MARK).toFixed(1)}Z`;
}
