/** The path through a step: a row a device, a box a stretch. Arrow keys follow the path, Enter shows it on the timeline. */

import { useState } from "preact/hooks";

import { formatDuration, formatTick } from "../../base/format";
import { clamp, linearScale } from "../../base/scale";
import { go } from "../../state/route";
import { formatWindow } from "../../state/url";
import { Legend } from "../../widgets/chart/Legend";
import { useSize } from "../../widgets/useSize";
import { crossings, partColour, stripOf } from "./strip";
import type { Stretch } from "./strip";

const ROW = 22;
const BOX = 16;
const AXIS = 22;
/** A stretch is at least so wide, so that it is seen. */
const SEEN = 1;
/** Seen on both sides of a stretch on the timeline, as a share of its length. */
const AROUND = 0.5;

export function ChainStrip({ stretches }: { readonly stretches: readonly Stretch[] }) {
  const [ref, { width }] = useSize<HTMLDivElement>();
  const [at, setAt] = useState<number | null>(null);
  const strip = stripOf(stretches);
  if (strip === null) return null;
  const { devices, start, end } = strip;
  const names = Math.min(0.34 * width, 8 + 6.4 * Math.max(...devices.map((one) => one.length)));
  const height = devices.length * ROW + AXIS;
  const place = linearScale([0, end - start], [names, Math.max(names + 60, width - 4)], Math.max(2, Math.floor(width / 140)));
  const x = (time: number): number => place(time - start);
  const middle = (device: string): number => devices.indexOf(device) * ROW + ROW / 2;
  const show = (one: Stretch): void =>
    go({ page: "timeline", view: { view: formatWindow(one.start - AROUND * one.time, one.start + (1 + AROUND) * one.time) } });
  const onKeyDown = (event: KeyboardEvent): void => {
    const last = stretches.length - 1;
    const moves: Record<string, number> = { ArrowLeft: (at ?? 1) - 1, ArrowRight: (at ?? -1) + 1, Home: 0, End: last };
    const move = moves[event.key];
    const shown = at === null ? undefined : stretches[at];
    if (move !== undefined) setAt(clamp(move, 0, last));
    else if (event.key === "Enter" && shown !== undefined) show(shown);
    else if (event.key === "Escape") setAt(null);
    else return;
    event.preventDefault();
  };
  const shown = at === null ? undefined : stretches[at];
  const parts = [...new Set(stretches.map((one) => one.part))];
  return (
    <div ref={ref} class="chain">
      <div
        class="chart keys"
        tabIndex={0}
        role="group"
        aria-label="The critical path. Arrow keys follow it, Enter shows a stretch on the timeline."
        onKeyDown={onKeyDown}
        onMouseLeave={() => setAt(null)}
      >
        <svg
          width={width}
          height={height}
          role="img"
          aria-label={`${stretches.length} stretches on ${devices.length} devices, ${formatDuration(end - start)}`}
        >
          {devices.map((device, i) => (
            <>
              <rect class="chain-row" x={names} y={i * ROW + (ROW - BOX) / 2} width={Math.max(0, x(end) - names)} height={BOX} />
              <text class="chain-name" x={names - 8} y={middle(device)} dy="0.32em" text-anchor="end">
                {shortened(device, names)}
              </text>
            </>
          ))}
          {crossings(stretches).map((one) => (
            <line class="chain-cross" x1={x(one.at)} x2={x(one.at)} y1={middle(one.from)} y2={middle(one.to)} />
          ))}
          {stretches.map((one, i) => (
            <rect
              class={i === at ? "chain-box shown" : "chain-box"}
              x={x(one.start)}
              y={middle(one.device) - BOX / 2}
              width={Math.max(SEEN, x(one.start + one.time) - x(one.start))}
              height={BOX}
              style={{ fill: partColour(one.part) }}
              onMouseEnter={() => setAt(i)}
              onClick={() => show(one)}
            />
          ))}
          <g class="axis" aria-hidden="true">
            {place.ticks.map((tick) => (
              <text x={place(tick)} y={height - 6} text-anchor="middle">
                {`+${formatTick(tick)}`}
              </text>
            ))}
          </g>
        </svg>
      </div>
      <p class="chain-said" aria-live="polite">
        {shown === undefined
          ? "Point at a box for what it is; a click shows it on the timeline."
          : `${shown.what ?? "no op"}: ${formatDuration(shown.time)}, ${shown.part}, on ${shown.device}`}
      </p>
      <Legend items={parts.map((part) => ({ name: part, colour: partColour(part) }))} />
    </div>
  );
}

/** As much of a name's end as fits: devices of one run begin alike. */
function shortened(name: string, room: number): string {
  const most = Math.max(4, Math.floor((room - 8) / 6.4));
  return name.length <= most ? name : `…${name.slice(1 - most)}`;
}
