import type { ComponentChildren } from "preact";

import type { Scale } from "../../base/scale";

export interface Box {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

export interface FrameProps {
  readonly box: Box;
  readonly x: Scale;
  readonly y: Scale;
  readonly formatX: (value: number) => string;
  readonly formatY: (value: number) => string;
  readonly labelX: string;
  readonly labelY: string;
  readonly verticalGrid?: boolean;
  readonly children: ComponentChildren;
}

/** Axes, grid and labels around a plot, inside an `<svg>`. */
export function Frame(props: FrameProps) {
  const { box, x, y } = props;
  return (
    <>
      <g class="grid" aria-hidden="true">
        {y.ticks.map((tick) => (
          <line x1={box.left} x2={box.right} y1={y(tick)} y2={y(tick)} />
        ))}
        {props.verticalGrid === true && x.ticks.map((tick) => <line x1={x(tick)} x2={x(tick)} y1={box.top} y2={box.bottom} />)}
      </g>
      <g class="axis" aria-hidden="true">
        {y.ticks.map((tick) => (
          <text x={box.left - 8} y={y(tick)} dy="0.32em" text-anchor="end">
            {props.formatY(tick)}
          </text>
        ))}
        {x.ticks.map((tick) => (
          <text x={x(tick)} y={box.bottom + 16} text-anchor="middle">
            {props.formatX(tick)}
          </text>
        ))}
        <line x1={box.left} x2={box.right} y1={box.bottom} y2={box.bottom} />
        <text class="axis-label" x={box.right} y={box.bottom + 32} text-anchor="end">
          {props.labelX}
        </text>
        <text class="axis-label" x={box.left} y={box.top - 10} text-anchor="start">
          {props.labelY}
        </text>
      </g>
      {props.children}
    </>
  );
}
