/** Explanations: whatever carries `data-tip` explains itself to the pointer and to the keyboard's focus. One box for the whole page;
 * it stays while the pointer is on it and goes on Escape. */

import { useEffect, useRef } from "preact/hooks";

const SHOW_MS = 300;
const HIDE_MS = 150;
const GAP = 6;

export function TipLayer() {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const tip = box.current;
    if (tip === null) return undefined;
    let about: HTMLElement | null = null;
    let timer = 0;
    const hide = (): void => {
      clearTimeout(timer);
      about?.removeAttribute("aria-describedby");
      about = null;
      if (tip.matches(":popover-open")) tip.hidePopover();
    };
    const show = (element: HTMLElement): void => {
      const text = element.dataset["tip"] ?? "";
      if (text === "" || !element.isConnected) return;
      hide();
      about = element;
      // What describes itself otherwise keeps doing so.
      if (!element.hasAttribute("aria-describedby")) element.setAttribute("aria-describedby", tip.id);
      tip.textContent = text;
      tip.showPopover();
      const at = element.getBoundingClientRect();
      const most = document.documentElement.clientWidth - tip.offsetWidth - 8;
      const below = at.bottom + GAP + tip.offsetHeight < innerHeight;
      tip.style.left = `${Math.max(8, Math.min(at.left, most))}px`;
      tip.style.top = `${below ? at.bottom + GAP : Math.max(8, at.top - GAP - tip.offsetHeight)}px`;
    };
    const later = (what: () => void, ms: number): void => {
      clearTimeout(timer);
      timer = window.setTimeout(what, ms);
    };
    const owner = (target: EventTarget | null): HTMLElement | null =>
      target instanceof Element ? target.closest<HTMLElement>("[data-tip]") : null;
    const onOver = (event: Event): void => {
      const element = owner(event.target);
      if (tip.contains(event.target as Node)) clearTimeout(timer);
      else if (element === null) {
        if (about !== null && !about.matches(":focus-visible, :has(:focus-visible)")) later(hide, HIDE_MS);
        else if (about === null) clearTimeout(timer);
      } else if (element !== about) later(() => show(element), SHOW_MS);
      else clearTimeout(timer);
    };
    const onFocus = (event: Event): void => {
      const element = owner(event.target);
      // A field's definition stands on its label.
      const target = event.target as Element;
      if (element === null || !(element === target || element.matches("label")) || !target.matches(":focus-visible")) return;
      // After the browser is done with what moved the focus: it may be opening a box.
      later(() => document.activeElement === target && show(element), 0);
    };
    const onKey = (event: KeyboardEvent): void => {
      if (event.key === "Escape") hide();
    };
    const onDown = (event: Event): void => {
      if (!tip.contains(event.target as Node)) hide();
    };
    const listeners: readonly (readonly [string, (event: never) => void])[] = [
      ["pointerover", onOver],
      ["focusin", onFocus],
      ["focusout", hide],
      ["keydown", onKey],
      ["pointerdown", onDown],
      ["popstate", hide],
    ];
    for (const [name, listener] of listeners) addEventListener(name, listener as EventListener);
    addEventListener("scroll", hide, true);
    return () => {
      hide();
      for (const [name, listener] of listeners) removeEventListener(name, listener as EventListener);
      removeEventListener("scroll", hide, true);
    };
  }, []);
  return <div ref={box} id="tip" class="explain" role="tooltip" popover="manual" />;
}
