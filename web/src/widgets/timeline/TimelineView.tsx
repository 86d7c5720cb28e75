/** The canvas with its labels: binds model, renderer and hands together. */

import { useSignalEffect } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";

import { formatDuration, formatInt } from "../../base/format";
import { shownTheme } from "../../state/theme";
import { useSize } from "../useSize";
import { bindHeldKeys, bindPointer, isTyping } from "./input";
import type { Row } from "./layout";
import { depthAt, rowAt, rowsBetween } from "./layout";
import type { TimelineModel } from "./model";
import type { Palette } from "./palette";
import { readPalette } from "./palette";
import type { Picked, Renderer } from "./renderer";
import { CanvasRenderer, RULER_HEIGHT } from "./renderer";
import { keepEnds, neighbour, sliceAt } from "./slices";
import type { Viewport } from "./viewport";
import { pxToTime, span, viewOf } from "./viewport";

const NARROW = 640;

export interface TimelineViewProps {
  readonly model: TimelineModel;
  readonly scope: Viewport | null;
  readonly onPick: (picked: Picked | null) => void;
}

/** The slice beside the selected one; without a selection, what the first track with something in view shows at its middle. */
function step(model: TimelineModel, tracks: readonly number[], direction: 1 | -1): Picked | null {
  const from = model.selected.value;
  if (from !== null) {
    const slice = neighbour(model.slicesOf(from.track), from.slice[0], from.slice[2], direction);
    return slice === null ? null : { track: from.track, slice };
  }
  const { start, end } = model.view.value;
  for (const track of tracks) {
    const slice = sliceAt(model.slicesOf(track), (start + end) / 2, 0, (end - start) / 2);
    if (slice !== null) return { track, slice };
  }
  return null;
}

interface HoverAt {
  readonly x: number;
  readonly y: number;
}

export function TimelineView({ model, scope, onPick }: TimelineViewProps) {
  const [box, size] = useSize<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const renderer = useRef<Renderer | null>(null);
  const palette = useRef<Palette | null>(null);
  const frame = useRef(0);
  const drawn = useRef(() => {});
  const [hoverAt, setHoverAt] = useState<HoverAt>({ x: 0, y: 0 });

  const gutter = size.width < NARROW ? 92 : 196;
  const width = Math.max(0, size.width - gutter);

  const visibleTracks = (extra: number): number[] => {
    const top = box.current?.scrollTop ?? 0;
    return rowsBetween(model.layout.value, top - extra, top + size.height + extra).flatMap((row) =>
      row.kind === "track" ? [row.track.id] : [],
    );
  };

  drawn.current = () => {
    if (canvas.current === null || width === 0) return;
    renderer.current ??= new CanvasRenderer(canvas.current);
    palette.current ??= readPalette(canvas.current);
    renderer.current.draw({
      width,
      height: size.height,
      scrollTop: box.current?.scrollTop ?? 0,
      view: model.view.value,
      layout: model.layout.value,
      layers: model.layers.value,
      palette: palette.current,
      selected: model.selected.value,
      hovered: model.hovered.value,
      scope,
      range: model.range.value,
    });
    model.ensure(width, visibleTracks(size.height / 2));
  };
  const redraw = (): void => {
    cancelAnimationFrame(frame.current);
    frame.current = requestAnimationFrame(() => drawn.current());
  };

  useSignalEffect(() => {
    // Reading them here subscribes the drawing to them.
    void [model.view.value, model.layout.value, model.layers.value, model.selected.value, model.hovered.value, model.range.value];
    redraw();
  });
  useSignalEffect(() => {
    void shownTheme.value;
    palette.current = null;
    redraw();
  });
  useEffect(redraw, [size.width, size.height, scope?.start, scope?.end, model]);
  useEffect(() => () => cancelAnimationFrame(frame.current), []);

  const pick = (x: number, y: number): Picked | null => {
    const content = y - RULER_HEIGHT + (box.current?.scrollTop ?? 0);
    const row = y < RULER_HEIGHT ? null : rowAt(model.layout.value, content);
    if (row?.kind !== "track") return null;
    const view = model.view.value;
    const slice = sliceAt(model.slicesOf(row.track.id), pxToTime(view, width, x), depthAt(row, content), (span(view) / width) * 3);
    return slice === null ? null : { track: row.track.id, slice };
  };
  const handlers = useRef({ pick, onPick });
  handlers.current = { pick, onPick };

  useEffect(() => {
    if (canvas.current === null || box.current === null) return undefined;
    const target = {
      canvas: canvas.current,
      scroller: box.current,
      model,
      onClick: (x: number, y: number) => {
        model.range.value = null;
        handlers.current.onPick(handlers.current.pick(x, y));
      },
      onHover: (x: number, y: number) => {
        model.hovered.value = handlers.current.pick(x, y);
        setHoverAt({ x, y });
      },
      onLeave: () => {
        model.hovered.value = null;
      },
    };
    const unbind = [bindPointer(target), bindHeldKeys(target)];
    return () => unbind.forEach((undo) => undo());
  }, [model]);

  const walk = (direction: 1 | -1): void => {
    const next = step(model, visibleTracks(0), direction);
    if (next === null) return;
    onPick(next);
    const view = model.view.value;
    const [start, duration] = next.slice;
    if (start > view.end || start + duration < view.start) {
      model.look({ start: start + duration / 2 - span(view) / 2, end: start + duration / 2 + span(view) / 2 });
    }
  };
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (isTyping(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
      const onCanvas = document.activeElement === canvas.current;
      if (event.key === "f") model.look(model.bounds);
      else if (event.key === "z" && model.selected.value !== null) {
        const [start, duration] = model.selected.value.slice;
        model.look(viewOf(model.bounds, start, start + duration));
      } else if (event.key === ".") walk(1);
      else if (event.key === ",") walk(-1);
      else if (event.key === "Escape") {
        model.range.value = null;
        onPick(null);
      } else if (onCanvas && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
        if (box.current !== null) box.current.scrollTop += event.key === "ArrowDown" ? 60 : -60;
      } else return;
      event.preventDefault();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  });

  const layout = model.layout.value;
  const hovered = model.hovered.value;
  const total = Math.max(size.height, layout.height + RULER_HEIGHT + 8);
  return (
    <div class="tl-box">
      <div class="tl-scroll" ref={box} onScroll={redraw}>
        <div class="tl-inner" style={{ height: `${total}px` }}>
          <div class="tl-corner" style={{ width: `${gutter}px`, height: `${RULER_HEIGHT}px` }}>
            {formatDuration(span(model.view.value), 3)}
          </div>
          <canvas
            ref={canvas}
            class="tl-canvas"
            tabIndex={0}
            role="application"
            aria-label="Timeline. W and S zoom, A and D or the arrows pan, comma and full stop walk along the track, F shows all."
            style={{ marginLeft: `${gutter}px`, width: `${width}px`, height: `${size.height}px` }}
          />
          {layout.rows.map((row) => (
            <RowLabel
              key={row.kind === "group" ? `g${row.group.id}` : `t${row.track.id}`}
              row={row}
              gutter={gutter}
              onToggle={(id) => model.toggle(id)}
            />
          ))}
        </div>
      </div>
      {hovered !== null && <SliceTip model={model} picked={hovered} x={hoverAt.x + gutter} y={hoverAt.y} width={size.width} />}
    </div>
  );
}

function RowLabel({ row, gutter, onToggle }: { readonly row: Row; readonly gutter: number; readonly onToggle: (id: string) => void }) {
  const style = { top: `${row.y + RULER_HEIGHT}px`, height: `${row.height}px` };
  if (row.kind === "track") {
    return (
      <div class="tl-track" style={{ ...style, width: `${gutter}px` }} title={`${row.track.name}: ${formatInt(row.track.events)} events`}>
        {row.track.name}
      </div>
    );
  }
  // Beside the arrow, and beside the number of tracks where there is room for one.
  const letters = Math.floor(gutter / 8) - (row.open || gutter < 100 ? 4 : 9);
  return (
    <button
      type="button"
      class="tl-group"
      title={`${row.group.name} (${row.group.kind})`}
      style={{ ...style, width: `${gutter}px` }}
      aria-expanded={row.open}
      onClick={() => onToggle(row.group.id)}
    >
      <span aria-hidden="true">{row.open ? "▾" : "▸"}</span> {keepEnds(row.group.name, letters)}
      {!row.open && <span class="tl-kind">{`${row.group.tracks.length} tracks`}</span>}
    </button>
  );
}

interface SliceTipProps {
  readonly model: TimelineModel;
  readonly picked: Picked;
  readonly x: number;
  readonly y: number;
  readonly width: number;
}

function SliceTip({ model, picked, x, y, width }: SliceTipProps) {
  const [start, duration, , , count] = picked.slice;
  const style = x > width / 2 ? { right: `${width - x + 14}px`, top: `${y + 14}px` } : { left: `${x + 14}px`, top: `${y + 14}px` };
  return (
    <div class="tip" style={style} aria-hidden="true">
      <strong>{model.nameOf(picked)}</strong>
      {count > 1 && (
        <div class="tip-line">
          <span>merged</span>
          <span>{formatInt(count)} events</span>
        </div>
      )}
      <div class="tip-line">
        <span>duration</span>
        <span>{formatDuration(duration)}</span>
      </div>
      <div class="tip-line">
        <span>start</span>
        <span>{formatDuration(start, 7)}</span>
      </div>
    </div>
  );
}
