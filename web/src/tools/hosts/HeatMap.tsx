/** Times by step and device as a heat map. Arrow keys go from cell to cell, Enter picks one; the cell is read aloud, and the
 * table below holds the same numbers. */

import { useMemo, useState } from "preact/hooks";

import { formatDuration, formatTick } from "../../base/format";
import { clamp } from "../../base/scale";
import { labelled } from "../../widgets/chart/stack";
import { Tip } from "../../widgets/chart/Tip";
import { useSize } from "../../widgets/useSize";
import type { Heat } from "./heat";
import { LEVELS, heatPaths } from "./heat";

const ROW = 18;
const LEAST_ROW = 3;
/** Device names are read where rows have room for them. */
const NAMED_ROW = 11;
const TALLEST = 620;
const STEP_ROOM = 40;
/** Pixels that a letter of a label takes. */
const LETTER = 6.8;

export interface HeatMapProps {
  readonly label: string;
  readonly heat: Heat;
  readonly marked: ReadonlySet<string>;
  readonly selected: number | null;
  readonly onPick: (row: number) => void;
}

interface Place {
  readonly device: number;
  readonly step: number;
}

export function HeatMap({ label, heat, marked, selected, onPick }: HeatMapProps) {
  const [ref, { width }] = useSize<HTMLDivElement>();
  const [at, setAt] = useState<Place | null>(null);
  const { devices, steps } = heat;
  const high = clamp(TALLEST / devices.length, LEAST_ROW, ROW);
  const named = high >= NAMED_ROW;
  const longest = named ? Math.max(...devices.map((name) => name.length + (marked.has(name) ? 2 : 0))) : 0;
  const left = Math.min(width * 0.36, longest * LETTER + 12);
  const room = Math.max(60, width - left - 4);
  const wide = Math.min(72, room / steps.length);
  const gap = wide > 3 && high > 5 ? 1 : 0;
  const paths = useMemo(() => heatPaths(heat, wide, high, gap), [heat, wide, high, gap]);
  const [plotWide, plotHigh] = [wide * steps.length, high * devices.length];
  const cell = at === null ? null : (heat.cells[at.device]?.[at.step] ?? null);
  const words =
    at === null ? "" : `${devices[at.device]}, step ${steps[at.step]}, ${cell === null ? "no such step" : formatDuration(cell.ps)}`;
  const placeOf = (event: MouseEvent & { readonly currentTarget: SVGSVGElement }): Place | null => {
    const rect = event.currentTarget.getBoundingClientRect();
    const step = Math.floor((event.clientX - rect.left - left) / wide);
    const device = Math.floor((event.clientY - rect.top) / high);
    return step < 0 || step >= steps.length || device < 0 || device >= devices.length ? null : { device, step };
  };
  const pick = (place: Place | null): void => {
    const row = place === null ? undefined : heat.cells[place.device]?.[place.step]?.row;
    if (row !== undefined) onPick(row);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const from = at ?? { device: 0, step: 0 };
    const by = at === null ? 0 : 1;
    const moves: Record<string, Place> = {
      ArrowLeft: { ...from, step: from.step - by },
      ArrowRight: { ...from, step: from.step + by },
      ArrowUp: { ...from, device: from.device - by },
      ArrowDown: { ...from, device: from.device + by },
      Home: { ...from, step: 0 },
      End: { ...from, step: steps.length - 1 },
    };
    const move = moves[event.key];
    if (move !== undefined) setAt({ device: clamp(move.device, 0, devices.length - 1), step: clamp(move.step, 0, steps.length - 1) });
    else if (event.key === "Enter" || event.key === " ") pick(at);
    else if (event.key === "Escape") setAt(null);
    else return;
    event.preventDefault();
  };
  const shade = (level: number): number => 0.08 + (0.92 * level) / (LEVELS - 1);
  const picked = heat.cells.flatMap((line, device) =>
    line.flatMap((one, step) => (one !== null && one.row === selected ? [{ device, step }] : [])),
  );
  return (
    <div
      class="heat"
      ref={ref}
      tabIndex={0}
      role="group"
      aria-label={`${label}. Arrow keys go from cell to cell, Enter picks one.`}
      onKeyDown={onKeyDown}
    >
      <svg
        width={width}
        height={plotHigh + 22}
        role="img"
        aria-label={`${label}: ${devices.length} devices, ${steps.length} steps, ${formatDuration(heat.low)} to ${formatDuration(heat.high)}`}
        onMouseMove={(event) => setAt(placeOf(event))}
        onMouseLeave={() => setAt(null)}
        onClick={(event) => pick(placeOf(event))}
      >
        {width > 0 && (
          <>
            <g class="heat-labels" aria-hidden="true">
              {named &&
                devices.map((name, i) => (
                  <text class={marked.has(name) ? "marked" : ""} x={left - 8} y={(i + 0.5) * high} dy="0.34em" text-anchor="end">
                    {`${marked.has(name) ? "▲ " : ""}${shortened(name, left - (marked.has(name) ? 2 * LETTER : 0))}`}
                  </text>
                ))}
              {labelled(steps.length, plotWide, STEP_ROOM).map((i) => (
                <text x={left + (i + 0.5) * wide} y={plotHigh + 15} text-anchor="middle">
                  {steps[i]}
                </text>
              ))}
            </g>
            <g transform={`translate(${left} 0)`}>
              <rect class="heat-none" width={plotWide} height={plotHigh} />
              {paths.map((path, level) => (
                <path class="heat-cell" d={path} fill-opacity={shade(level)} />
              ))}
              {heat.hostStarts.map((i) => (
                <line class="heat-host" x1={0} x2={plotWide} y1={i * high - gap / 2} y2={i * high - gap / 2} />
              ))}
              {[...picked, ...(at === null ? [] : [at])].map((place) => (
                <rect
                  class="heat-cursor"
                  x={place.step * wide}
                  y={place.device * high}
                  width={Math.max(2, wide - gap)}
                  height={high - gap}
                />
              ))}
            </g>
          </>
        )}
      </svg>
      <div class="heat-scale" aria-hidden="true">
        <span>{formatTick(heat.low)}</span>
        {paths.map((_, level) => (
          <span class="swatch" style={{ opacity: shade(level) }} />
        ))}
        <span>{formatTick(heat.high)}</span>
        <span>{marked.size > 0 ? "· ▲ straggler" : ""}</span>
      </div>
      {at !== null && width > 0 && (
        <Tip
          x={left + (at.step + 0.5) * wide}
          y={Math.min(plotHigh - 10, (at.device + 1) * high + 4)}
          width={width}
          title={devices[at.device] ?? ""}
          lines={[
            ["step", steps[at.step] ?? ""],
            ["time", cell === null ? "no such step" : formatDuration(cell.ps)],
          ]}
        />
      )}
      <p class="visually-hidden" role="status">
        {words}
      </p>
    </div>
  );
}

/** A long name keeps its end, which tells devices apart. */
function shortened(name: string, room: number): string {
  const most = Math.max(4, Math.floor((room - 12) / LETTER));
  return name.length <= most ? name : `…${name.slice(name.length - most + 1)}`;
}
