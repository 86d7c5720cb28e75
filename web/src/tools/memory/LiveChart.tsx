/** Bytes in use in the order of the schedule. The cursor is a slider: arrows move it, and what is there is read aloud. */

import { useState } from "preact/hooks";

import { seriesVar } from "../../base/colour";
import { formatBytes, formatInt } from "../../base/format";
import { binaryScale, linearScale } from "../../base/scale";
import { Frame } from "../../widgets/chart/Frame";
import { Legend } from "../../widgets/chart/Legend";
import { Tip } from "../../widgets/chart/Tip";
import { useSize } from "../../widgets/useSize";
import type { Axis } from "./axis";
import { keyed, useAxisHands } from "./axis";
import type { Live, Moment } from "./live";
import { peakIndex, pointAt, stepPath } from "./live";

const HEIGHT = 220;
export const MARGIN = 72;

export interface LiveChartProps {
  readonly live: Live;
  /** Instructions by heap event. */
  readonly moments: readonly Moment[];
  /** The heap event of the peak. */
  readonly peakAt: number;
  readonly axis: Axis;
  readonly onPick: (instruction: string) => void;
}

export function LiveChart({ live, moments, peakAt, axis, onPick }: LiveChartProps) {
  const [box, { width }] = useSize<HTMLDivElement>();
  const [cursor, setCursor] = useState<number | null>(null);
  const [hovered, setHovered] = useState<number | null>(null);
  const points = live.padded;
  const room = { left: MARGIN, top: 28, right: Math.max(140, width - 12), bottom: HEIGHT - 40 };
  const x = linearScale(axis.part, [room.left, room.right], Math.max(2, Math.floor((room.right - room.left) / 110)));
  const peak = points[pointAt(points, peakAt)] ?? points[peakIndex(points)];
  const y = binaryScale(peak?.bytes ?? 1, [room.bottom, room.top]);
  const instructionAt = (position: number): string => {
    const moment = moments[pointAt(moments, position)];
    return moment === undefined || moment.at > position ? "" : moment.instruction;
  };
  const hands = useAxisHands<SVGSVGElement>(axis, room, (event) => {
    const name = instructionAt(x.invert(pixelOf(event)));
    if (name !== "") onPick(name);
  });
  if (peak === undefined) return null;

  const at = hovered ?? cursor;
  const shown = at === null ? undefined : points[pointAt(points, at)];
  const unpadded = at === null ? undefined : live.unpadded[pointAt(live.unpadded, at)];
  const peakPoint = points.indexOf(peak);
  const index = cursor === null ? peakPoint : pointAt(points, cursor);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const stride = event.shiftKey ? Math.max(1, Math.round(points.length / 50)) : 1;
    const jumps: Record<string, number> = {
      ArrowLeft: index - stride,
      ArrowRight: index + stride,
      Home: 0,
      End: points.length - 1,
      p: peakPoint,
    };
    const jump = jumps[event.key];
    const part = keyed(axis, event.key, cursor ?? peakAt);
    if (jump !== undefined) setCursor(points[Math.max(0, Math.min(points.length - 1, jump))]?.at ?? null);
    else if (part !== null) axis.look(part);
    else if (event.key === "Enter" && at !== null && instructionAt(at) !== "") onPick(instructionAt(at));
    else return;
    event.preventDefault();
  };
  const pixelOf = (event: MouseEvent): number => event.clientX - (hands.current?.getBoundingClientRect().left ?? 0);
  const said = points[index];
  return (
    <div class="chart" ref={box}>
      <svg
        ref={hands}
        class="axis-chart"
        width={width}
        height={HEIGHT}
        tabindex={0}
        role="slider"
        aria-label="Position in the schedule. Arrows move, P goes to the peak, plus and minus zoom, A and D pan, F shows all."
        aria-valuemin={0}
        aria-valuemax={points.length - 1}
        aria-valuenow={index}
        aria-valuetext={said === undefined ? "" : `event ${formatInt(said.at)}, ${instructionAt(said.at)}: ${formatBytes(said.bytes)}`}
        onKeyDown={onKeyDown}
        onMouseMove={(event) => setHovered(x.invert(pixelOf(event)))}
        onMouseLeave={() => setHovered(null)}
      >
        {width > 0 && (
          <>
            <clipPath id="live-clip">
              <rect x={room.left} y={0} width={room.right - room.left} height={HEIGHT} />
            </clipPath>
            <Frame
              box={room}
              x={x}
              y={y}
              formatX={(v) => formatInt(v)}
              formatY={(v) => formatBytes(v, 3)}
              labelX="heap event"
              labelY="bytes in use"
            >
              <g clip-path="url(#live-clip)">
                <path
                  class="live-area"
                  d={`${stepPath(points, axis.part, x, y)}V${room.bottom}H${x(Math.max(axis.part[0], points[0]?.at ?? 0)).toFixed(1)}Z`}
                />
                <path class="line" d={stepPath(points, axis.part, x, y)} stroke={seriesVar(0)} />
                {live.unpadded.length > 0 && <path class="line" d={stepPath(live.unpadded, axis.part, x, y)} stroke={seriesVar(1)} />}
                <line class="peak-line" x1={x(peakAt)} x2={x(peakAt)} y1={room.top} y2={room.bottom} />
                <circle class="peak-dot" cx={x(peakAt)} cy={y(peak.bytes)} r={4} />
                {at !== null && <line class="cursor-line" x1={x(at)} x2={x(at)} y1={room.top} y2={room.bottom} />}
              </g>
            </Frame>
          </>
        )}
      </svg>
      <Legend
        items={[
          { name: live.unpadded.length > 0 ? "with padding" : "bytes", colour: seriesVar(0) },
          ...(live.unpadded.length > 0 ? [{ name: "without padding", colour: seriesVar(1) }] : []),
          {
            name: `peak ${formatBytes(peak.bytes)}${instructionAt(peakAt) === "" ? "" : ` at ${instructionAt(peakAt)}`}`,
            colour: "var(--odd)",
          },
        ]}
      />
      {shown !== undefined && at !== null && at >= axis.part[0] && at <= axis.part[1] && (
        <Tip
          x={x(at)}
          y={24}
          width={width}
          title={instructionAt(at) || `heap event ${formatInt(shown.at)}`}
          lines={[
            ["in use", formatBytes(shown.bytes)],
            ...(unpadded === undefined ? [] : [["without padding", formatBytes(unpadded.bytes)] as [string, string]]),
            ["heap event", formatInt(shown.at)],
          ]}
        />
      )}
    </div>
  );
}
