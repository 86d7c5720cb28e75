/** The canvas with its labels: binds model, renderer and hands together. */

import { useSignalEffect } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";

import { formatDuration } from "../../base/format";
import { shownTheme } from "../../state/theme";
import { useSize } from "../useSize";
import type { InputTarget, Spot } from "./input";
import { bindHeldKeys, bindPointer } from "./input";
import { Labels, rowsNearScreen } from "./Labels";
import type { GroupRow, Row } from "./layout";
import { GROUP_HEIGHT, depthAt, rowAt, rowsBetween, sliceTop, tracksOfRow } from "./layout";
import type { TimelineModel } from "./model";
import { rowsNear } from "./model";
import type { Palette } from "./palette";
import { readPalette } from "./palette";
import type { Picked } from "./picks";
import { CanvasRenderer } from "./renderer";
import type { Renderer } from "./scene";
import { RULER_HEIGHT, headOf } from "./scene";
import { StickyGroup, groupAbove } from "./StickyGroup";
import { SliceTip } from "./SliceTip";
import type { TimelineHands } from "./useKeys";
import { useKeys } from "./useKeys";
import type { Viewport } from "./viewport";
import { pxToTime, span, timeToPx, viewOf } from "./viewport";

const NARROW = 640;
/** Pinned rows never take more of the height than this. */
const PINNED_SHARE = 0.55;
/** In the page's performance record: the first slices are drawn. */
const DRAWN = "timeline-drawn";
/** Labels follow a scroll in steps of so many pixels. */
const SCROLL_STEP = 200;

export interface TimelineViewProps {
  readonly model: TimelineModel;
  readonly scope: Viewport | null;
  readonly onPick: (picked: Picked | null) => void;
  /** What the page does for keys; absent where another timeline on the page has them. */
  readonly hands?: TimelineHands;
  /** Begins the canvas's name for those who do not see it. */
  readonly name: string;
  readonly onScopeTo?: (device: string) => void;
}

export function TimelineView({ model, scope, onPick, hands, name, onScopeTo }: TimelineViewProps) {
  const [box, size] = useSize<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const renderer = useRef<Renderer | null>(null);
  const palette = useRef<Palette | null>(null);
  const frame = useRef(0);
  const painted = useRef(false);
  const drawn = useRef(() => {});
  const [hoverAt, setHoverAt] = useState<Spot>({ x: 0, y: 0 });
  const [scrolled, setScrolled] = useState(0);
  const [above, setAbove] = useState<GroupRow | null>(null);

  const gutter = size.width < NARROW ? 92 : 204;
  const width = Math.max(0, size.width - gutter);
  const layout = model.layout.value;
  const head = headOf({ steps: model.steps.value });
  const pinned = Math.min(layout.pinnedHeight, Math.floor(size.height * PINNED_SHARE));

  drawn.current = () => {
    if (canvas.current === null || width === 0) return;
    renderer.current ??= new CanvasRenderer(canvas.current);
    palette.current ??= readPalette(canvas.current);
    const scrollTop = box.current?.scrollTop ?? 0;
    renderer.current.draw({
      width,
      height: size.height,
      scrollTop,
      view: model.view.value,
      bounds: model.bounds,
      layout: model.layout.value,
      pinned,
      store: model.loader.store,
      classes: model.classes,
      byName: model.colouring.value === "name",
      highlight: model.highlight.value,
      palette: palette.current,
      selected: model.selected.value,
      hovered: model.hovered.value,
      chosen: model.chosen.value,
      scope,
      area: model.area.value,
      marks: model.marks.value,
      steps: model.steps.value,
      counters: model.counters.value,
      overlap: model.overlap.value,
      showOverlap: model.showOverlap.value,
      showBubbles: model.showBubbles.value,
      hits: model.hits.value,
      hit: model.hit.value,
      flows: model.flows.value,
      rowOf: model.rowOf.value,
    });
    if (!painted.current && model.loader.store.bytes > 0) {
      painted.current = true;
      performance.mark(DRAWN);
    }
    model.ensure(width, rowsNear(model, scrollTop, size.height));
    noteOnScreen(model, scrollTop, size.height - head - pinned);
  };
  const redraw = (): void => {
    if (frame.current !== 0) return;
    frame.current = requestAnimationFrame(() => {
      frame.current = 0;
      drawn.current();
    });
  };

  useSignalEffect(() => {
    // Reading them here subscribes the drawing to them.
    void [model.view.value, model.layout.value, model.loader.version.value, model.selected.value, model.hovered.value];
    void [
      model.area.value,
      model.chosen.value,
      model.marks.value,
      model.steps.value,
      model.counters.value,
      model.overlap.value,
      model.highlight.value,
    ];
    void [model.showOverlap.value, model.showBubbles.value, model.hits.value, model.hit.value, model.flows.value];
    void [model.colouring.value, model.searching.value, model.loader.failure.value];
    redraw();
  });
  useSignalEffect(() => {
    void shownTheme.value;
    palette.current = null;
    redraw();
  });
  useEffect(redraw, [size.width, size.height, scope?.start, scope?.end, model, pinned]);
  useEffect(
    () => () => {
      cancelAnimationFrame(frame.current);
      frame.current = 0;
    },
    [],
  );

  /** The row at a height of the canvas, with the height in the row's own terms. */
  const rowUnder = (y: number): { readonly row: Row; readonly y: number } | null => {
    if (y < head) return null;
    const fixed = y - head < pinned;
    const content = fixed ? y - head : y - head - pinned + (box.current?.scrollTop ?? 0);
    const row = rowAt(fixed ? model.layout.value.pinned : model.layout.value.rows, content);
    return row === null ? null : { row, y: content };
  };
  const pick = ({ x, y }: Spot): Picked | null => {
    const under = rowUnder(y);
    if (under?.row.kind !== "track") return null;
    const view = model.view.value;
    const { row } = under;
    const depth = row.flat ? null : depthAt(row, under.y);
    return model.pickAt(row.track.id, pxToTime(view, width, x), depth, (span(view) / Math.max(1, width)) * 3);
  };
  const stepAt = ({ x, y }: Spot) => {
    if (y < RULER_HEIGHT || y >= head) return null;
    const time = pxToTime(model.view.value, width, x);
    return model.steps.value.find((step) => time >= step.start_ps && time < step.end_ps) ?? null;
  };
  const actions: Omit<InputTarget, "canvas" | "scroller" | "model"> = {
    onClick: (at, adds) => {
      const step = stepAt(at);
      if (step !== null) {
        model.step.value = step;
        model.area.value = { start: step.start_ps, end: step.end_ps, tracks: null };
      } else if (at.y >= head) {
        const picked = pick(at);
        if (adds && picked !== null) model.choose(picked);
        else if (!adds) {
          model.chosen.value = [];
          onPick(picked);
        }
      }
    },
    onDoubleClick: (at) => {
      const step = stepAt(at);
      const picked = step === null ? pick(at) : null;
      if (step !== null) model.look(viewOf(model.limits.value, step.start_ps, step.end_ps));
      else if (picked !== null) model.look(viewOf(model.limits.value, picked.start, picked.start + picked.duration));
    },
    onHover: (at) => {
      const found = pick(at);
      const before = model.hovered.value;
      const same = before?.track === found?.track && before?.start === found?.start && before?.depth === found?.depth;
      if (!same) model.hovered.value = found;
      if (found !== null) setHoverAt(at);
    },
    onLeave: () => {
      if (model.hovered.value !== null) model.hovered.value = null;
    },
    onArea: (from, to) => {
      const times = [from.x, to.x].map((x) => Math.round(pxToTime(model.view.value, width, Math.min(width, Math.max(0, x)))));
      const [start, end] = [Math.min(...times), Math.max(...times)];
      model.step.value = null;
      model.area.value =
        end > start ? { start, end, tracks: from.y < head || model.tool.value === "measure" ? null : tracksUnder(from.y, to.y) } : null;
    },
    onRuler: (y) => y < RULER_HEIGHT,
  };
  /** Tracks that a drag crosses; a closed group counts with all its tracks. */
  const tracksUnder = (from: number, to: number): number[] => {
    const ids: number[] = [];
    const scroll = box.current?.scrollTop ?? 0;
    const [top, bottom] = [Math.min(from, to), Math.max(from, to)];
    const add = (rows: readonly Row[]): void => {
      for (const row of rows) {
        if (row.kind === "track") ids.push(row.track.id);
        else if (row.kind === "group" && !row.open) ids.push(...row.group.tracks.map((track) => track.id));
      }
    };
    if (top < head + pinned) add(rowsBetween(model.layout.value.pinned, top - head, Math.min(bottom, head + pinned) - head));
    if (bottom > head + pinned) {
      const shift = scroll - head - pinned;
      add(rowsBetween(model.layout.value.rows, Math.max(top, head + pinned) + shift, bottom + shift));
    }
    return ids;
  };
  const handlers = useRef(actions);
  handlers.current = actions;

  useEffect(() => {
    if (canvas.current === null || box.current === null) return undefined;
    const target: InputTarget = {
      canvas: canvas.current,
      scroller: box.current,
      model,
      onClick: (at, adds) => handlers.current.onClick(at, adds),
      onDoubleClick: (at) => handlers.current.onDoubleClick(at),
      onHover: (at) => handlers.current.onHover(at),
      onLeave: () => handlers.current.onLeave(),
      onArea: (from, to) => handlers.current.onArea(from, to),
      onRuler: (y) => handlers.current.onRuler(y),
    };
    const unbind = [bindPointer(target), ...(hands === undefined ? [] : [bindHeldKeys(target)])];
    return () => unbind.forEach((undo) => undo());
  }, [model]);
  useKeys(model, canvas, box, hands, onPick);

  /** Brings a height of the content, as tall as that, into view. */
  const scrollTo = (y: number, height: number): void => {
    const scroller = box.current;
    if (scroller === null) return;
    const room = scroller.clientHeight - head - pinned;
    if (y < scroller.scrollTop || y + Math.min(height, room) > scroller.scrollTop + room) {
      scroller.scrollTop = Math.max(0, y - room / 3);
    }
  };
  /** Where a slice stands in the content; null where its row does not scroll. */
  const placeOf = (track: number, depth: number): { readonly y: number; readonly height: number } | null => {
    const row = model.rowOf.value.get(track);
    if (row === undefined || (row.kind === "track" && row.pinned)) return null;
    if (row.kind !== "track") return row;
    return { y: Math.min(sliceTop(row, depth), row.y + row.height - row.slice), height: row.slice };
  };
  // What is picked, here or elsewhere (a hit, a flow's other end), is brought into view, also when the room for it changes.
  const bring = (): void => {
    const one = model.hit.value ?? model.selected.value;
    const place = one === null ? null : placeOf(one.track, one.depth);
    if (place !== null) scrollTo(place.y, place.height);
  };
  useSignalEffect(bring);
  useEffect(bring, [size.height]);
  useSignalEffect(() => {
    const row = model.layout.value.rows.find((one) => one.key === model.wanted.value);
    if (model.wanted.value === null) return;
    if (row !== undefined && box.current !== null) box.current.scrollTop = Math.max(0, row.y - GROUP_HEIGHT);
    model.wanted.value = null;
  });

  /** Where the selected slice is on the canvas; null where it is not. */
  const keyedAt = (): Spot | null => {
    const picked = model.selected.value;
    const row = picked === null ? undefined : model.rowOf.value.get(picked.track);
    if (picked === null || row === undefined) return null;
    const fixed = row.kind === "track" && row.pinned;
    const top = row.kind === "track" ? sliceTop(row, picked.depth) + row.slice : row.y + row.height;
    const y = top + head + (fixed ? 0 : pinned - (box.current?.scrollTop ?? 0));
    const x = timeToPx(model.view.value, width, picked.start);
    const end = timeToPx(model.view.value, width, picked.start + picked.duration);
    return end < 0 || x > width || y < head || y > size.height ? null : { x: Math.max(0, x), y };
  };
  const total = Math.max(size.height, layout.height + head + pinned + 8);
  return (
    <div class="tl-box">
      <div
        class="tl-scroll"
        ref={box}
        onScroll={(event) => {
          // Labels are made for a few screens; they follow in coarse steps.
          const step = Math.floor(event.currentTarget.scrollTop / SCROLL_STEP);
          if (step !== scrolled) setScrolled(step);
          const group = groupAbove(layout.rows, event.currentTarget.scrollTop);
          if (group !== above) setAbove(group);
          redraw();
        }}
      >
        <div
          class="tl-inner"
          style={{ height: `${total}px`, "--tl-label": `${head + pinned + (above === null ? 0 : GROUP_HEIGHT) + 3}px` }}
        >
          <div class="tl-corner" style={{ width: `${gutter}px`, height: `${head}px` }}>
            <SpanText model={model} />
            {head > RULER_HEIGHT && <span class="tl-corner-steps">steps</span>}
          </div>
          <StickyGroup model={model} row={above} top={head + pinned} gutter={gutter} />
          {pinned > 0 && (
            <div class="tl-pinned" style={{ top: `${head}px`, height: `${pinned}px`, width: `${gutter}px` }}>
              <Labels model={model} gutter={gutter} rows={rowsBetween(layout.pinned, 0, pinned)} shift={0} onScopeTo={onScopeTo} />
            </div>
          )}
          <canvas
            ref={canvas}
            class="tl-canvas"
            tabIndex={0}
            role="application"
            aria-label={`${name}. W and S zoom, F zooms to the selection, Z undoes a zoom, A and D or the arrows pan, comma and full stop walk along the track, Enter picks, L lists the events in view, question mark shows all keys.`}
            style={{ marginLeft: `${gutter}px`, marginTop: `-${head + pinned}px`, width: `${width}px`, height: `${size.height}px` }}
          />
          <div class="tl-labels" style={{ width: `${gutter}px` }}>
            <Labels
              model={model}
              gutter={gutter}
              rows={rowsNearScreen(
                layout.rows,
                scrolled * SCROLL_STEP - SCROLL_STEP,
                scrolled * SCROLL_STEP + size.height + 2 * SCROLL_STEP,
              )}
              shift={head + pinned}
              onScopeTo={onScopeTo}
            />
          </div>
        </div>
      </div>
      <SliceTip model={model} at={hoverAt} keyedAt={keyedAt} gutter={gutter} width={size.width} height={size.height} />
    </div>
  );
}

/** Keeps the list of tracks on the screen, from the top, for what is asked about the screen. */
function noteOnScreen(model: TimelineModel, top: number, height: number): void {
  const rows = [...model.layout.value.pinned, ...rowsBetween(model.layout.value.rows, top, top + height)];
  const ids = rows.flatMap((row) => tracksOfRow(row).map((track) => track.id));
  const before = model.onScreen.value;
  if (ids.length !== before.length || ids.some((id, i) => id !== before[i])) model.onScreen.value = ids;
}

function SpanText({ model }: { readonly model: TimelineModel }) {
  return <span>{formatDuration(span(model.view.value), 3)}</span>;
}
