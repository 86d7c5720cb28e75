/** Where buffers lie in memory, and when: each is a box of its lifetime by its place. On canvas, there may be thousands. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { formatBytes, formatInt } from "../../base/format";
import { binaryScale, linearScale } from "../../base/scale";
import { shownTheme } from "../../state/theme";
import { Tip } from "../../widgets/chart/Tip";
import { readPalette, sliceColour } from "../../widgets/timeline/palette";
import { fitText } from "../../widgets/timeline/slices";
import { useSize } from "../../widgets/useSize";
import type { Axis } from "./axis";
import { keyed, useAxisHands } from "./axis";
import { MARGIN } from "./LiveChart";
import type { Box } from "./live";
import { boxAt } from "./live";

const HEIGHT = 280;

export interface BoxChartProps {
  readonly boxes: readonly Box[];
  readonly axis: Axis;
  /** Position of the peak, or null. */
  readonly peak: number | null;
  readonly selected: string;
  readonly onSelect: (name: string) => void;
}

export function BoxChart({ boxes, axis, peak, selected, onSelect }: BoxChartProps) {
  const [frame, { width }] = useSize<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement | null>(null);
  const [over, setOver] = useState<{ box: Box; x: number; y: number } | null>(null);
  const room = { left: MARGIN, top: 8, right: Math.max(140, width - 12), bottom: HEIGHT - 30 };
  const most = useMemo(() => boxes.reduce((top, box) => Math.max(top, box.offset + box.bytes), 1), [boxes]);
  const x = linearScale(axis.part, [room.left, room.right], Math.max(2, Math.floor((room.right - room.left) / 110)));
  const y = binaryScale(most / 1.05, [room.bottom, room.top]);
  const theme = shownTheme.value;
  const hit = (event: MouseEvent): { box: Box; x: number; y: number } | null => {
    const rect = canvas.current?.getBoundingClientRect();
    if (rect === undefined) return null;
    const place = { x: event.clientX - rect.left, y: event.clientY - rect.top };
    const box = boxAt(boxes, x.invert(place.x), y.invert(place.y));
    return box === null || place.x < room.left || place.x > room.right ? null : { box, ...place };
  };
  const hands = useAxisHands<HTMLCanvasElement>(axis, room, (event) => onSelect(hit(event)?.box.name ?? ""));

  useEffect(() => {
    canvas.current = hands.current;
    const context = hands.current?.getContext("2d") ?? null;
    if (hands.current === null || context === null || width === 0) return undefined;
    const id = requestAnimationFrame(() => {
      const ratio = devicePixelRatio || 1;
      const element = context.canvas;
      element.width = Math.round(width * ratio);
      element.height = Math.round(HEIGHT * ratio);
      const palette = readPalette(element);
      context.scale(ratio, ratio);
      context.font = "11px system-ui, sans-serif";
      context.textBaseline = "middle";
      context.fillStyle = palette.muted;
      context.textAlign = "right";
      for (const tick of y.ticks) {
        context.fillStyle = palette.line;
        context.fillRect(room.left, Math.round(y(tick)), room.right - room.left, 1);
        context.fillStyle = palette.muted;
        context.fillText(formatBytes(tick, 3), room.left - 8, y(tick));
      }
      context.textAlign = "center";
      for (const tick of x.ticks) context.fillText(formatInt(tick), x(tick), room.bottom + 14);
      context.textAlign = "left";
      context.save();
      context.beginPath();
      context.rect(room.left, room.top, room.right - room.left, room.bottom - room.top);
      context.clip();
      for (const box of boxes) {
        if (box.end < axis.part[0] || box.start > axis.part[1]) continue;
        const x0 = Math.max(room.left - 2, x(box.start));
        const x1 = Math.min(room.right + 2, x(box.end));
        const y0 = y(box.offset + box.bytes);
        const high = Math.max(0.75, y(box.offset) - y0);
        const wide = Math.max(0.75, x1 - x0);
        context.fillStyle = sliceColour(palette, box.name);
        context.fillRect(x0, y0, wide > 3 ? wide - 1 : wide, high > 3 ? high - 1 : high);
        if (box.name === selected) {
          context.strokeStyle = palette.accent;
          context.lineWidth = 2;
          context.strokeRect(x0, y0, Math.max(2, wide), Math.max(2, high));
        }
        if (high < 13 || wide < 30) continue;
        context.fillStyle = palette.sliceText;
        context.fillText(fitText(box.name, wide - 8, 6), x0 + 4, y0 + high / 2);
      }
      if (peak !== null) {
        context.fillStyle = getComputedStyle(element).getPropertyValue("--odd").trim();
        context.fillRect(x(peak), room.top, 1.5, room.bottom - room.top);
      }
      context.restore();
    });
    return () => cancelAnimationFrame(id);
  }, [boxes, axis.part[0], axis.part[1], width, theme, selected, peak]);

  return (
    <div class="chart" ref={frame}>
      <canvas
        ref={hands}
        class="axis-chart"
        tabIndex={0}
        role="img"
        aria-label={`Where ${boxes.length} buffers are in memory over the schedule; the table below lists them. Plus and minus zoom, A and D pan, F shows all.`}
        style={{ width: `${width}px`, height: `${HEIGHT}px` }}
        onKeyDown={(event) => {
          const part = keyed(axis, event.key, peak ?? (axis.part[0] + axis.part[1]) / 2);
          if (part === null || event.ctrlKey || event.metaKey || event.altKey) return;
          axis.look(part);
          event.preventDefault();
        }}
        onMouseMove={(event) => setOver(hit(event))}
        onMouseLeave={() => setOver(null)}
      />
      {over !== null && (
        <Tip
          x={over.x}
          y={Math.min(over.y, HEIGHT - 110)}
          width={width}
          title={over.box.name}
          lines={[
            ["size", formatBytes(over.box.bytes)],
            ["offset", formatBytes(over.box.offset)],
            ["alive", `${formatInt(over.box.start)} to ${formatInt(over.box.end)}`],
          ]}
        />
      )}
    </div>
  );
}
