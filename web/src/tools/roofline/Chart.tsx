import { useMemo } from "preact/hooks";

import type { Table } from "../../api/types";
import { assignColours, seriesVar } from "../../base/colour";
import { boundVar } from "../../base/meaning";
import { formatDuration, formatQuantity, formatShare, significant } from "../../base/format";
import type { Scale } from "../../base/scale";
import { clamp, logScale } from "../../base/scale";
import { Frame } from "../../widgets/chart/Frame";
import { Legend } from "../../widgets/chart/Legend";
import { Tip } from "../../widgets/chart/Tip";
import { useSize } from "../../widgets/useSize";
import type { Roof, RoofPoint } from "./geometry";
import { attainable, domains, isInside, radius, roofPoints, slope } from "./geometry";

const MAX_NAMED = 8;
/** The longest points show how far below the roof they are; more would hide the points. */
const GAPS = 12;

export interface RooflineChartProps {
  readonly table: Table;
  readonly roof: Roof;
  readonly groupBy: readonly string[];
  readonly groupName: string;
  readonly selected: number | null;
  readonly hovered: number | null;
  readonly onSelect: (row: number | null) => void;
  readonly onHover: (row: number | null) => void;
}

interface RoofLinesProps {
  readonly roof: Roof;
  readonly fit: ReturnType<typeof domains>;
  readonly x: Scale;
  readonly y: Scale;
}

function RoofLines({ roof, fit, x, y }: RoofLinesProps) {
  const { peakFlopRate, peakByteRate } = roof;
  const [left, right] = fit.x;
  const bottom = fit.y[0];
  if (peakFlopRate === null) {
    if (peakByteRate === null) return null;
    const low = Math.max(left, bottom / peakByteRate);
    const high = Math.min(right, fit.y[1] / peakByteRate);
    return (
      <>
        <path class="roof" d={`M${x(low)} ${y(peakByteRate * low)}L${x(high)} ${y(peakByteRate * high)}`} />
        <text class="roof-label" x={x(low) + 10} y={y(peakByteRate * low) + 16}>{`HBM ${formatQuantity(peakByteRate, "B/s", 3)}`}</text>
      </>
    );
  }
  if (peakByteRate === null) return <path class="roof" d={`M${x(left)} ${y(peakFlopRate)}H${x(right)}`} />;
  const ridge = peakFlopRate / peakByteRate;
  const late = x(ridge) > (x(left) + x(right)) / 2;
  // The slope starts where it meets the left edge or the bottom, whichever comes first.
  const start = Math.max(left, bottom / peakByteRate);
  return (
    <>
      <path
        class="roof-area"
        d={`M${x(start)} ${y(peakByteRate * start)}L${x(ridge)} ${y(peakFlopRate)}H${x(right)}V${y(bottom)}H${x(start)}Z`}
      />
      <path class="roof" d={`M${x(start)} ${y(peakByteRate * start)}L${x(ridge)} ${y(peakFlopRate)}H${x(right)}`} />
      <line class="ridge" x1={x(ridge)} x2={x(ridge)} y1={y(peakFlopRate)} y2={y(bottom)} />
      <text
        class="roof-label"
        x={x(right) - 4}
        y={y(peakFlopRate) - 8}
        text-anchor="end"
      >{`peak ${formatQuantity(peakFlopRate, "FLOP/s", 3)}`}</text>
      <text
        class="roof-label"
        x={x(ridge) + (late ? -5 : 5)}
        y={y(bottom) - 6}
        text-anchor={late ? "end" : "start"}
      >{`ridge ${significant(ridge, 3)} FLOP/B · ${formatQuantity(peakByteRate, "B/s", 3)}`}</text>
    </>
  );
}

/** The ceilings of memories other than the main one. */
function LevelLines({ roof, fit, x, y }: RoofLinesProps) {
  return (
    <>
      {(roof.levels ?? []).map(({ name, rate }) => {
        const ends = slope(rate, roof.peakFlopRate, fit);
        if (ends === null) return null;
        const [from, to] = ends;
        return (
          <g key={name}>
            <path class="roof level" d={`M${x(from)} ${y(rate * from)}L${x(to)} ${y(rate * to)}`} />
            <text class="roof-label" x={x(from) + 8} y={y(rate * from) - 8}>{`${name} ${formatQuantity(rate, "B/s", 3)}`}</text>
          </g>
        );
      })}
    </>
  );
}

export function RooflineChart(props: RooflineChartProps) {
  const { table, roof, selected, hovered } = props;
  const [ref, { width }] = useSize<HTMLDivElement>();
  const points = useMemo(() => roofPoints(table, props.groupBy).sort((a, b) => b.timePs - a.timePs), [table, props.groupBy]);
  const colours = useMemo(() => assignColours(points.map((p) => p.group)), [points]);
  const colourOf = (group: string): string => boundVar(group) ?? seriesVar(colours.get(group) ?? 0);
  const longest = points[0]?.timePs ?? 0;
  const height = width < 600 ? 320 : 440;
  const box = { left: 86, top: 30, right: Math.max(180, width - 16), bottom: height - 42 };
  const fit = domains(points, roof);
  const x = logScale(fit.x, [box.left, box.right], Math.max(2, Math.floor(width / 90)));
  const y = logScale(fit.y, [box.bottom, box.top], 8);
  const beyond = points.filter((p) => !isInside(fit, p)).length;
  const shown = points.find((p) => p.row === (hovered ?? selected)) ?? null;
  const roofAtShown = shown === null ? null : attainable(roof, shown.intensity);

  // Arrows walk from point to point by intensity, so that left and right are what they look like.
  const onKeyDown = (event: KeyboardEvent): void => {
    const order = [...points].sort((a, b) => a.intensity - b.intensity);
    const at = order.findIndex((p) => p.row === (hovered ?? selected));
    const jumps: Record<string, number> = {
      ArrowRight: at + 1,
      ArrowLeft: at < 0 ? order.length - 1 : at - 1,
      Home: 0,
      End: order.length - 1,
    };
    const jump = jumps[event.key];
    if (jump !== undefined) props.onHover(order[Math.max(0, Math.min(order.length - 1, jump))]?.row ?? null);
    else if (event.key === "Enter" && hovered !== null) props.onSelect(hovered === selected ? null : hovered);
    else if (event.key === "Escape") {
      props.onHover(null);
      props.onSelect(null);
    } else return;
    event.preventDefault();
  };
  const gaps = points.slice(0, GAPS).filter((p) => isInside(fit, p));

  return (
    <div
      class="chart roofline"
      ref={ref}
      tabIndex={0}
      role="group"
      aria-label="Roofline: arrows walk the points, Enter selects one"
      onKeyDown={onKeyDown}
      onBlur={() => props.onHover(null)}
    >
      <svg width={width} height={height} role="img" aria-label={`Roofline of ${points.length} points; the table below lists them`}>
        {width > 0 && (
          <Frame
            box={box}
            x={x}
            y={y}
            formatX={(v) => formatPower(v, "")}
            formatY={(v) => formatPower(v, "FLOP/s")}
            labelX="operational intensity, FLOP/B"
            labelY="achieved rate"
            verticalGrid
          >
            <RoofLines roof={roof} fit={fit} x={x} y={y} />
            <LevelLines roof={roof} fit={fit} x={x} y={y} />
            {gaps.map((p) => {
              const above = attainable(roof, p.intensity);
              return (
                above !== null &&
                above > p.rate && <line class="gap-line faint" x1={x(p.intensity)} x2={x(p.intensity)} y1={y(p.rate)} y2={y(above)} />
              );
            })}
            {shown !== null && roofAtShown !== null && isInside(fit, shown) && (
              <line class="gap-line" x1={x(shown.intensity)} x2={x(shown.intensity)} y1={y(shown.rate)} y2={y(roofAtShown)} />
            )}
            {points.map((p) => (
              <circle
                key={p.row}
                class={`point${p.row === selected ? " selected" : ""}${p === shown ? " shown" : ""}`}
                cx={clamp(x(p.intensity), box.left, box.right)}
                cy={clamp(y(p.rate), box.top, box.bottom)}
                r={radius(p.timePs, longest)}
                fill={colourOf(p.group)}
                onMouseEnter={() => props.onHover(p.row)}
                onMouseLeave={() => props.onHover(null)}
                onClick={() => props.onSelect(p.row === selected ? null : p.row)}
              />
            ))}
          </Frame>
        )}
      </svg>
      <Legend
        items={[...colours].slice(0, MAX_NAMED).map(([name]) => ({ name: name === "" ? "unknown" : name, colour: colourOf(name) }))}
        note={[
          `${points.length} of ${table.rows.length} rows have FLOPs and bytes`,
          ...(beyond > 0 ? [`${beyond} short ones lie beyond the edge`] : []),
          ...(colours.size > MAX_NAMED ? [`${colours.size} groups`] : []),
        ].join("; ")}
      />
      <p class="visually-hidden" role="status">
        {shown === null ? "" : `${shown.name}, ${formatDuration(shown.timePs)}, ${significant(shown.intensity, 3)} FLOP/B`}
      </p>
      {shown !== null && (
        <PointTip
          point={shown}
          roofRate={roofAtShown}
          x={clamp(x(shown.intensity), box.left, box.right)}
          y={clamp(y(shown.rate), box.top, height - 150)}
          width={width}
          groupName={props.groupName}
        />
      )}
    </div>
  );
}

interface PointTipProps {
  readonly point: RoofPoint;
  readonly roofRate: number | null;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly groupName: string;
}

function PointTip({ point, roofRate, x, y, width, groupName }: PointTipProps) {
  const lines: [string, string][] = [
    ["intensity", `${significant(point.intensity)} FLOP/B`],
    ["achieved", formatQuantity(point.rate, "FLOP/s")],
    ["roof here", roofRate === null ? "unknown" : formatQuantity(roofRate, "FLOP/s")],
    ["of the roof", roofRate === null ? "unknown" : formatShare(point.rate / roofRate)],
    ["self time", formatDuration(point.timePs)],
  ];
  if (point.group !== "") lines.push([groupName, point.group]);
  return <Tip x={x} y={y} width={width} title={point.name} lines={lines} />;
}

function formatPower(value: number, unit: string): string {
  return value >= 1 ? formatQuantity(value, unit, 1) : significant(value, 1);
}
