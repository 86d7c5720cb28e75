/** The timeline's keys, but for those that are held. `keys.ts` lists them for the help. */

import type { RefObject } from "preact";
import { useEffect } from "preact/hooks";

import { isTyping } from "./input";
import type { TimelineModel, Tool } from "./model";
import type { Picked } from "./picks";
import { span, viewOf } from "./viewport";

/** What keys do that the page sees to. */
export interface TimelineHands {
  readonly search: () => void;
  readonly nextHit: (direction: 1 | -1) => void;
  readonly list: () => void;
  readonly follow: (direction: 1 | -1) => void;
  readonly details: () => void;
}

/** As in XProf's trace viewer. */
export const TOOLS: readonly (readonly [Tool, string, string])[] = [
  ["select", "Select", "Drag to select an area: time and tracks (1)"],
  ["pan", "Pan", "Drag to move the view (2)"],
  ["zoom", "Zoom", "Drag up to zoom in, down to zoom out (3)"],
  ["measure", "Measure", "Drag to measure a stretch of time on all tracks (4)"],
];

export function useKeys(
  model: TimelineModel,
  canvas: RefObject<HTMLCanvasElement | null>,
  scroller: RefObject<HTMLElement | null>,
  hands: TimelineHands | undefined,
  onPick: (picked: Picked | null) => void,
): void {
  const go = (picked: Picked | null): void => {
    if (picked === null) return;
    onPick(picked);
    model.hovered.value = null;
    model.keyed.value = true;
    model.reveal(picked.start, picked.duration);
  };
  const mark = (): void => {
    const { start, end } = model.view.value;
    model.addMark(model.pointer ?? model.selected.value?.start ?? (start + end) / 2);
  };
  const growArea = (direction: 1 | -1): void => {
    const { start, end } = model.view.value;
    const area = model.area.value ?? { start: Math.round((start + end) / 2), end: Math.round((start + end) / 2), tracks: null };
    const moved = Math.round(area.end + (direction * (end - start)) / 40);
    model.area.value = { ...area, end: Math.min(model.bounds.end, Math.max(area.start + 1, moved)) };
  };
  useEffect(() => {
    if (hands === undefined) return undefined;
    const onKey = (event: KeyboardEvent): void => {
      if (isTyping(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
      if (document.querySelector("dialog[open], .tl-menu") !== null) return;
      const onCanvas = document.activeElement === canvas.current;
      const { start, end } = model.view.value;
      const acts: Record<string, (() => void) | undefined> = {
        f: () => model.focus(),
        z: () => model.undo(),
        Z: () => model.redo(),
        "0": () => model.look(model.limits.value),
        q: hands.details,
        ".": () => go(model.beside(1)),
        ",": () => go(model.beside(-1)),
        "]": () => hands.follow(1),
        "[": () => hands.follow(-1),
        m: mark,
        M: () => (model.marks.value = []),
        "/": hands.search,
        n: () => hands.nextHit(1),
        N: () => hands.nextHit(-1),
        l: hands.list,
        r: () => (model.area.value = { start: Math.floor(start), end: Math.ceil(end), tracks: null }),
        Escape: () => {
          model.area.value = null;
          model.chosen.value = [];
          model.step.value = null;
          model.hit.value = null;
          onPick(null);
        },
      };
      TOOLS.forEach(([tool], i) => (acts[String(i + 1)] = () => (model.tool.value = tool)));
      if (onCanvas) {
        const scroll = (by: number): void => {
          if (scroller.current !== null) scroller.current.scrollTop += by;
        };
        acts["ArrowDown"] = () => scroll(60);
        acts["ArrowUp"] = () => scroll(-60);
        acts["PageDown"] = () => scroll(400);
        acts["PageUp"] = () => scroll(-400);
        acts["+"] = () => model.look(viewOf(model.limits.value, start + span(model.view.value) * 0.3, end - span(model.view.value) * 0.3));
        acts["-"] = () =>
          model.look(viewOf(model.limits.value, start - span(model.view.value) * 0.75, end + span(model.view.value) * 0.75));
        acts["Enter"] = () => go(model.middle());
        if (event.shiftKey) {
          acts["ArrowRight"] = () => growArea(1);
          acts["ArrowLeft"] = () => growArea(-1);
        }
      }
      const act = acts[event.key];
      if (act === undefined) return;
      event.preventDefault();
      act();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  });
}
