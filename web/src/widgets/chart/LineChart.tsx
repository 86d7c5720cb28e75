/** A report's series as lines. */

import { useState } from "preact/hooks";

import type { Series } from "../../api/types";
import { seriesVar } from "../../base/colour";
import { formatValue } from "../../base/format";
import { binaryScale, extent, linearScale } from "../../base/scale";
import { useSize } from "../useSize";
import { Frame } from "./Frame";
import { Legend } from "./Legend";
import { Tip } from "./Tip";

const HEIGHT = 220;

export type Point = readonly [number, number | null];

/** Curves of one chart, with their labels. */
export interface Curves extends Omit<Series, "points"> {
  readonly lines: readonly { readonly id: string; readonly label: string; readonly points: readonly Point[] }[];
}

/** A gap in the data is a gap in the line. With `steps` a value holds until the next one: there is nothing between them. */
export function linePath(points: readonly Point[], x: (v: number) => number, y: (v: number) => number, steps = false): string {
  let open = false;
  return points
    .map(([px, py]) => {
      const went = open;
      open = py !== null;
      if (py === null) return "";
      const [to, up] = [x(px).toFixed(1), y(py).toFixed(1)];
      return went && steps ? `H${to}V${up}` : `${went ? "L" : "M"}${to} ${up}`;
    })
    .join("");
}

export interface LineChartProps {
  readonly series: Series | Curves;
  /** Whether a value holds until the next one. */
  readonly steps?: boolean;
}

export function LineChart({ series, steps = false }: LineChartProps) {
  const [ref, { width }] = useSize<HTMLDivElement>();
  const [at, setAt] = useState<number | null>(null);
  const lines: Curves["lines"] = "lines" in series ? series.lines : [{ id: series.id, label: series.y.label, points: series.points }];
  const xs = extent(lines.flatMap((line) => line.points.map((p) => p[0])));
  const ys = extent(lines.flatMap((line) => line.points.map((p) => p[1])));
  if (xs === null || ys === null) return <p class="empty">No points in this scope.</p>;
  const box = { left: 72, top: 28, right: Math.max(140, width - 16), bottom: HEIGHT - 40 };
  const x = linearScale(xs, [box.left, box.right], Math.max(2, Math.floor((box.right - box.left) / 100)));
  const y =
    series.y.unit === "B" && ys[0] >= 0
      ? binaryScale(ys[1], [box.bottom, box.top])
      : linearScale([Math.min(0, ys[0]), ys[1] * 1.05], [box.bottom, box.top], 4);
  const last = (points: readonly Point[], until: number): Point | null =>
    points.reduce<Point | null>((best, p) => (p[0] <= until ? p : best), null) ?? points[0] ?? null;
  const nearest = (points: readonly Point[]): Point | null =>
    at === null
      ? null
      : steps
        ? last(points, at)
        : points.reduce<Point | null>((best, p) => (best === null || Math.abs(p[0] - at) < Math.abs(best[0] - at) ? p : best), null);
  const shown = nearest(lines[0]?.points ?? []);
  return (
    <div class="chart" ref={ref}>
      <svg
        width={width}
        height={HEIGHT}
        role="img"
        aria-label={series.title}
        onMouseMove={(event) => setAt(x.invert(event.clientX - event.currentTarget.getBoundingClientRect().left))}
        onMouseLeave={() => setAt(null)}
      >
        {width > 0 && (
          <Frame
            box={box}
            x={x}
            y={y}
            formatX={(v) => formatValue(v, series.x.unit)}
            formatY={(v) => formatValue(v, series.y.unit)}
            labelX={series.x.label}
            labelY={series.y.label}
          >
            {lines.map((line, i) => (
              <path class="line" d={linePath(line.points, x, y, steps)} stroke={seriesVar(i)} />
            ))}
          </Frame>
        )}
      </svg>
      {lines.length > 1 && <Legend items={lines.map((line, i) => ({ name: line.label, colour: seriesVar(i) }))} />}
      {shown !== null && (
        <Tip
          x={x(shown[0])}
          y={24}
          width={width}
          title={formatValue(shown[0], series.x.unit)}
          lines={lines.map((line) => [line.label, formatValue(nearest(line.points)?.[1] ?? null, series.y.unit)] as const)}
        />
      )}
    </div>
  );
}
