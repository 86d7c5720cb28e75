/** Compute against memory, both as shares of their peaks: which of the four cases the program is. */

import { formatShare } from "../../base/format";
import { seriesVar } from "../../base/colour";
import { linearScale } from "../../base/scale";
import { Legend } from "../../widgets/chart/Legend";
import type { QuadrantPoint } from "./read";

const SIZE = 260;
const BOX = { left: 44, top: 12, right: SIZE + 44, bottom: SIZE + 12 };
const CASES = [
  { x: 0.25, y: 0.75, text: "compute-bound" },
  { x: 0.75, y: 0.75, text: "both in use" },
  { x: 0.25, y: 0.25, text: "waits for something" },
  { x: 0.75, y: 0.25, text: "memory-bound" },
];
const TICKS = [0, 0.5, 1];

export function Quadrant({ points }: { readonly points: readonly QuadrantPoint[] }) {
  const x = linearScale([0, 1], [BOX.left, BOX.right]);
  const y = linearScale([0, 1], [BOX.bottom, BOX.top]);
  const clip = (share: number): number => Math.max(0, Math.min(1, share));
  const said = points.map((point) => `${point.name}: compute ${formatShare(point.compute)}, memory ${formatShare(point.memory)}`);
  return (
    <div class="quadrant">
      <svg viewBox={`0 0 ${BOX.right + 12} ${BOX.bottom + 40}`} role="img" aria-label={`Utilisation. ${said.join(". ")}`}>
        <rect class="quadrant-ground" x={BOX.left} y={BOX.top} width={SIZE} height={SIZE} />
        <line class="quadrant-line" x1={x(0.5)} x2={x(0.5)} y1={BOX.top} y2={BOX.bottom} />
        <line class="quadrant-line" x1={BOX.left} x2={BOX.right} y1={y(0.5)} y2={y(0.5)} />
        {CASES.map((one) => (
          <text class="quadrant-case" x={x(one.x)} y={y(one.y)} text-anchor="middle">
            {one.text}
          </text>
        ))}
        <g class="axis">
          {TICKS.map((tick) => (
            <>
              <text x={x(tick)} y={BOX.bottom + 16} text-anchor="middle">
                {formatShare(tick).replace(".0", "")}
              </text>
              <text x={BOX.left - 6} y={y(tick)} dy="0.32em" text-anchor="end">
                {formatShare(tick).replace(".0", "")}
              </text>
            </>
          ))}
          <text class="axis-label" x={BOX.right} y={BOX.bottom + 32} text-anchor="end">
            memory bandwidth, of its peak
          </text>
          <text class="axis-label" x={BOX.left + 6} y={BOX.top + 14}>
            FLOP rate, of its peak
          </text>
        </g>
        {points.map((point, i) => (
          <circle class="quadrant-point" cx={x(clip(point.memory))} cy={y(clip(point.compute))} r={6} style={{ fill: seriesVar(i) }}>
            <title>{said[i]}</title>
          </circle>
        ))}
      </svg>
      <Legend items={points.map((_, i) => ({ name: said[i] ?? "", colour: seriesVar(i) }))} />
    </div>
  );
}
