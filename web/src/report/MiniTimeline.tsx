/** A few steps as they ran, drawn once: what `haloscope report` took along of the timeline. */

import { useState } from "preact/hooks";

import { hashName, stem } from "../base/colour";
import { formatDuration, formatInt } from "../base/format";
import { Panel } from "../widgets/Panel";
import type { MiniTimelineData, Slice } from "./data";
import { drawTrack, sliceAt } from "./data";

const WIDTH = 1000;
const ROW = 15;
const COLOURS = 10;

const colourOf = (name: string): number => hashName(stem(name)) % COLOURS;
const fill = (colour: number): string => (colour < 0 ? "var(--merged)" : `var(--slice-${colour})`);

export function MiniTimeline({ data }: { readonly data: MiniTimelineData }) {
  const [hover, setHover] = useState("");
  const span = [data.start_ps, data.end_ps] as const;
  const drawn = data.tracks.flatMap((track, i) => {
    const slices = data.window.tracks[i]?.slices ?? [];
    return slices.length === 0 ? [] : [{ track, slices, ...drawTrack(slices, span, WIDTH, ROW - 2, data.window.names, colourOf) }];
  });
  const say = (slices: readonly Slice[], event: MouseEvent): void => {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    const time = span[0] + ((event.clientX - box.left) / box.width) * (span[1] - span[0]);
    const rows = Math.max(1, Math.round(box.height / ROW));
    const slice = sliceAt(slices, Math.floor(((event.clientY - box.top) / box.height) * rows), time);
    if (slice === null) return setHover("");
    const [start, duration, , name, count] = slice;
    const many = count > 1 ? `${formatInt(count)} events, the longest ` : "";
    setHover(`${many}${data.window.names[name] ?? ""}: ${formatDuration(duration)} at ${formatDuration(start - span[0])}`);
  };
  if (drawn.length === 0) return null;
  return (
    <Panel title="Steady state" note={`${formatDuration(span[1] - span[0])}: ${data.what}`}>
      <div class="mini">
        {drawn.map(({ track, slices, rows, deeper }, i) => (
          <div class="mini-track" key={track.id}>
            <div class="mini-name" title={`${track.group}/${track.name}`}>
              {drawn[i - 1]?.track.group === track.group ? "" : <b>{track.group} </b>}
              {track.name}
              {deeper > 0 && <span class="sub">{` +${formatInt(deeper)} deeper`}</span>}
            </div>
            <svg
              viewBox={`0 0 ${WIDTH} ${rows.length * ROW}`}
              preserveAspectRatio="none"
              height={rows.length * ROW}
              role="img"
              aria-label={`${track.group} ${track.name}: ${slices.length} slices`}
              onMouseMove={(event) => say(slices, event)}
              onMouseLeave={() => setHover("")}
            >
              {rows.map((row, depth) => (
                <g transform={`translate(0 ${depth * ROW + 1})`}>
                  {[...row.paths].map(([colour, path]) => (
                    <path d={path} fill={fill(colour)} />
                  ))}
                </g>
              ))}
            </svg>
          </div>
        ))}
        <p class="mini-said" aria-live="polite">
          {hover === "" ? "Grey boxes are several events in one pixel. Point at a box for its name and time." : hover}
        </p>
      </div>
      {data.devices_left_out > 0 && <p class="sub">{`${data.devices_left_out} more devices are not drawn.`}</p>}
    </Panel>
  );
}
