/** The step times of both runs on one axis: a point a step, the means, and where the experiment's mean lies. */

import { useMemo, useState } from "preact/hooks";

import { valueNumber } from "../../api/read";
import type { Report } from "../../api/types";
import { formatDuration, formatInt } from "../../base/format";
import { clamp, extent, linearScale } from "../../base/scale";
import { go } from "../../state/route";
import { Legend } from "../../widgets/chart/Legend";
import { isUsual } from "../../widgets/chart/steps";
import { Tip } from "../../widgets/chart/Tip";
import { Panel } from "../../widgets/Panel";
import { useSize } from "../../widgets/useSize";
import type { PlacedDot, StepDot, Which } from "./points";
import { BOTH, nearestDot, placed, stepDots, tickTexts } from "./points";
import { meansOf } from "./verdict";

export interface StepsPanelProps {
  readonly report: Report;
  readonly runs: Readonly<Record<Which, string>>;
}

const STRIP = 74;
const LABEL = 20;
const AXIS = 34;
const HEIGHT = 2 * (STRIP + LABEL) + AXIS;
const REACH = 24;
const EDGE = 30;
const STRIPS: Readonly<Record<Which, readonly [number, number]>> = {
  baseline: [LABEL, LABEL + STRIP],
  experiment: [2 * LABEL + STRIP, 2 * (LABEL + STRIP)],
};
const COLOUR: Readonly<Record<Which, string>> = { baseline: "var(--series-0)", experiment: "var(--series-1)" };
const NAMES: Readonly<Record<Which, string>> = { baseline: "Baseline", experiment: "Experiment" };

export function StepsPanel({ report, runs }: StepsPanelProps) {
  const dots = useMemo(() => stepDots(report), [report]);
  if (dots.length === 0) return null;
  const counts = BOTH.map((run) => `${formatInt(dots.filter((dot) => dot.run === run).length)} of the ${run}`);
  return (
    <Panel title="Step times" note={`steps: ${counts.join(", ")}`} picture="compare-steps">
      <Strips dots={dots} report={report} onPick={(dot) => go({ run: runs[dot.run], page: "steps", view: { sel: String(dot.step) } })} />
    </Panel>
  );
}

interface StripsProps {
  readonly dots: readonly StepDot[];
  readonly report: Report;
  readonly onPick: (dot: StepDot) => void;
}

function Strips({ dots, report, onPick }: StripsProps) {
  const [ref, { width }] = useSize<HTMLDivElement>();
  const [at, setAt] = useState<number | null>(null);
  const means = meansOf(report);
  const [low, high] = [valueNumber(report, "step_delta_low_ps"), valueNumber(report, "step_delta_high_ps")];
  const range = means === null || low === null || high === null ? null : ([means.baseline + low, means.baseline + high] as const);
  const times = extent([...dots.map((dot) => dot.ps), ...(range ?? []), means?.baseline ?? null, means?.experiment ?? null]);
  if (times === null) return null;
  const around = (times[1] - times[0]) * 0.06 || times[1] * 0.02;
  const right = Math.max(160, width - 10);
  const x = linearScale([Math.max(0, times[0] - around), times[1] + around], [10, right], Math.max(2, Math.floor(right / 90)));
  const all = placed(dots, x, STRIPS);
  const shown = at === null ? undefined : all[at];
  const dotAt = (event: MouseEvent & { readonly currentTarget: SVGSVGElement }): number | null => {
    const box = event.currentTarget.getBoundingClientRect();
    return nearestDot(all, event.clientX - box.left, event.clientY - box.top, REACH);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const last = all.length - 1;
    const moves: Record<string, number> = {
      ArrowLeft: (at ?? 1) - 1,
      ArrowUp: (at ?? 1) - 1,
      ArrowRight: (at ?? -1) + 1,
      ArrowDown: (at ?? -1) + 1,
      Home: 0,
      End: last,
    };
    const move = moves[event.key];
    if (move !== undefined) setAt(clamp(move, 0, last));
    else if ((event.key === "Enter" || event.key === " ") && shown !== undefined) onPick(shown);
    else if (event.key === "Escape") setAt(null);
    else return;
    event.preventDefault();
  };
  const odd = [...new Set(dots.filter((dot) => !isUsual(dot.kind)).map((dot) => dot.kind))];
  return (
    <div
      class="chart keys"
      ref={ref}
      tabIndex={0}
      role="group"
      aria-label="Step times of both runs. Arrow keys go from step to step, Enter opens the step in its run."
      onKeyDown={onKeyDown}
    >
      <svg
        width={width}
        height={HEIGHT}
        role="img"
        aria-label={`Step times from ${formatDuration(times[0])} to ${formatDuration(times[1])}`}
        onMouseMove={(event) => setAt(dotAt(event))}
        onMouseLeave={() => setAt(null)}
        onClick={(event) => {
          const dot = all[dotAt(event) ?? -1];
          if (dot !== undefined) onPick(dot);
        }}
      >
        {width > 0 && (
          <>
            <g class="grid" aria-hidden="true">
              {x.ticks.map((tick) => (
                <line x1={x(tick)} x2={x(tick)} y1={STRIPS.baseline[0]} y2={STRIPS.experiment[1]} />
              ))}
            </g>
            {range !== null && (
              <rect
                class="compare-range"
                x={x(range[0])}
                width={Math.max(1, x(range[1]) - x(range[0]))}
                y={STRIPS.experiment[0]}
                height={STRIP}
              />
            )}
            {BOTH.map((run) => (
              <Strip key={run} run={run} dots={all} />
            ))}
            {means !== null && (
              <>
                <line
                  class="compare-mean old"
                  x1={x(means.baseline)}
                  x2={x(means.baseline)}
                  y1={STRIPS.experiment[0]}
                  y2={STRIPS.experiment[1]}
                />
                <line
                  class="compare-mean"
                  stroke={COLOUR.baseline}
                  x1={x(means.baseline)}
                  x2={x(means.baseline)}
                  y1={STRIPS.baseline[0]}
                  y2={STRIPS.baseline[1]}
                />
                <line
                  class="compare-mean"
                  stroke={COLOUR.experiment}
                  x1={x(means.experiment)}
                  x2={x(means.experiment)}
                  y1={STRIPS.experiment[0]}
                  y2={STRIPS.experiment[1]}
                />
              </>
            )}
            {shown !== undefined && <circle class="compare-shown" cx={shown.x} cy={shown.y} r={6} />}
            <g class="axis" aria-hidden="true">
              {BOTH.map((run) => (
                <text key={run} x={10} y={STRIPS[run][0] - 6}>
                  {means === null ? NAMES[run] : `${NAMES[run]}: mean ${formatDuration(means[run])}`}
                </text>
              ))}
              {tickTexts(x.ticks).map((text, i) => (
                <text key={text} x={x(x.ticks[i] ?? 0)} y={STRIPS.experiment[1] + 16} text-anchor={anchor(x(x.ticks[i] ?? 0), right)}>
                  {text}
                </text>
              ))}
              <line x1={10} x2={right} y1={STRIPS.experiment[1]} y2={STRIPS.experiment[1]} />
            </g>
          </>
        )}
      </svg>
      <Legend
        items={[
          { name: NAMES.baseline, colour: COLOUR.baseline },
          { name: NAMES.experiment, colour: COLOUR.experiment },
          ...(odd.length === 0 ? [] : [{ name: `hollow: ${odd.join(", ")}`, colour: "var(--odd)" }]),
          ...(range === null ? [] : [{ name: "95% interval of the experiment's mean", colour: "var(--share)" }]),
        ]}
        note="steps in order from top to bottom; dashed: the baseline's mean"
      />
      {shown !== undefined && (
        <Tip
          x={shown.x}
          y={Math.max(0, shown.y - 20)}
          width={width}
          title={`${NAMES[shown.run]}, step ${shown.step}`}
          lines={[["time", formatDuration(shown.ps)], ...(shown.kind === "" ? [] : ([["class", shown.kind]] as const))]}
        />
      )}
      <p class="visually-hidden" role="status">
        {shown === undefined ? "" : `${NAMES[shown.run]}, step ${shown.step}, ${shown.kind}: ${formatDuration(shown.ps)}`}
      </p>
    </div>
  );
}

/** Words near an edge of the chart stay inside of it. */
function anchor(x: number, right: number): "start" | "middle" | "end" {
  return x < EDGE ? "start" : x > right - EDGE ? "end" : "middle";
}

function Strip({ run, dots }: { readonly run: Which; readonly dots: readonly PlacedDot[] }) {
  const [top] = STRIPS[run];
  return (
    <g>
      <line class="compare-strip" x1={10} x2={10} y1={top} y2={top + STRIP} />
      {dots
        .filter((dot) => dot.run === run)
        .map((dot) => (
          <circle
            key={dot.step}
            class={isUsual(dot.kind) ? "compare-dot" : "compare-dot odd"}
            cx={dot.x}
            cy={dot.y}
            r={3.5}
            fill={COLOUR[run]}
          />
        ))}
    </g>
  );
}
