/** The panels beside or below the canvas: what was clicked, what an area adds up to, the events in view. One is in front, the others
 * are a tab away; the edge to the canvas is dragged, Q hides and shows. Nothing that answers a click stands outside the window. */

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

import { SMALLEST, dock, placeDock } from "../../state/dock";
import type { DockTab } from "./tabs";
import { frontTab } from "./tabs";

/** The canvas keeps so much. */
const LEFT = 200;
const STEP = 24;

export interface DockProps {
  readonly tabs: readonly DockTab[];
  /** Shown where there is no tab. */
  readonly hint: string;
  /** The panel of a tab. */
  readonly children: (tab: string) => ComponentChildren;
}

export function Dock({ tabs, hint, children }: DockProps) {
  const root = useRef<HTMLElement>(null);
  const before = useRef<readonly DockTab[]>([]);
  const [front, setFront] = useState("");
  const held = (): boolean => root.current?.querySelector(".tl-dock-body")?.contains(document.activeElement) === true;
  const now = frontTab(before.current, tabs, front, held());
  useLayoutEffect(() => {
    before.current = tabs;
    if (now !== front) setFront(now);
  });
  const { side, open } = dock.value;
  const shown = open && now !== "";
  const beside = side === "beside";
  const size = beside ? dock.value.beside : dock.value.below;
  const [room, setRoom] = useState(Number.POSITIVE_INFINITY);
  useEffect(() => {
    const stage = root.current?.parentElement ?? null;
    if (stage === null) return undefined;
    const observer = new ResizeObserver(() => setRoom((beside ? stage.clientWidth : stage.clientHeight) - LEFT));
    observer.observe(stage);
    return () => observer.disconnect();
  }, [beside]);
  useEffect(() => {
    // On a phone the details are a sheet over the lower half: what they are about goes to the upper one.
    const element = root.current;
    if (shown && element !== null && getComputedStyle(element).position === "fixed")
      element.parentElement?.scrollIntoView({ block: "start" });
  }, [shown]);
  const most = Math.max(SMALLEST, room);
  const resize = (to: number): void => {
    const next = Math.round(Math.min(most, Math.max(SMALLEST, to)));
    placeDock(beside ? { beside: next } : { below: next });
  };
  const onPointerMove = (event: PointerEvent): void => {
    const element = event.currentTarget as HTMLElement;
    const box = root.current?.getBoundingClientRect();
    if (!element.hasPointerCapture(event.pointerId) || box === undefined) return;
    resize(beside ? box.right - event.clientX : box.bottom - event.clientY);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const larger = beside ? "ArrowLeft" : "ArrowUp";
    const smaller = beside ? "ArrowRight" : "ArrowDown";
    if (event.key === larger) resize(Math.min(size, most) + STEP);
    else if (event.key === smaller) resize(Math.min(size, most) - STEP);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const place = shown ? (beside ? { width: `${Math.min(size, most)}px` } : { height: `${Math.min(size, most)}px` }) : {};
  return (
    <section ref={root} class={`tl-dock ${side}${shown ? " open" : ""}`} aria-label="Details" style={place}>
      {shown && (
        <div
          class="tl-dock-edge"
          role="separator"
          tabIndex={0}
          aria-orientation={beside ? "vertical" : "horizontal"}
          aria-label="Size of the details"
          aria-valuenow={Math.min(size, most)}
          aria-valuemin={SMALLEST}
          aria-valuemax={Number.isFinite(most) ? most : undefined}
          onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
          onPointerMove={onPointerMove}
          onKeyDown={onKeyDown}
        />
      )}
      <div class="tl-dock-head">
        {tabs.length === 0 && <span class="tl-hint">{hint}</span>}
        {tabs.length > 0 && (
          <div class="tabs" role="group" aria-label="Details of">
            {tabs.map((tab) => (
              <button
                type="button"
                key={tab.id}
                aria-pressed={shown && tab.id === now}
                onClick={() => {
                  setFront(tab.id);
                  if (!open) placeDock({ open: true });
                }}
              >
                {tab.label}
              </button>
            ))}
          </div>
        )}
        <span class="tl-dock-actions">
          {tabs.length > 0 && (
            <button type="button" class="quiet" aria-expanded={open} title="Q" onClick={() => placeDock({ open: !open })}>
              {open ? "Hide" : "Show"}
            </button>
          )}
          <button type="button" class="quiet tl-dock-side" onClick={() => placeDock({ side: beside ? "below" : "beside" })}>
            {beside ? "Move below" : "Move beside"}
          </button>
        </span>
      </div>
      {shown && <div class="tl-dock-body">{children(now)}</div>}
    </section>
  );
}
