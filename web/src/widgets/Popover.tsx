/** A button that opens a small box over the page. The browser closes it on Escape and on a click elsewhere, and gives the focus
 * back to the button. */

import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";

export interface PopoverProps {
  /** What the box is, for those who do not see it. */
  readonly label: string;
  readonly button: ComponentChildren;
  readonly class?: string;
  readonly title?: string;
  /** Drawn while the box is open. */
  readonly children: (close: () => void) => ComponentChildren;
}

const MARGIN = 8;

export function Popover({ label, button, class: extra = "", title, children }: PopoverProps) {
  const id = useId();
  const anchor = useRef<HTMLButtonElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const [open, setOpen] = useState(false);
  const place = (): void => {
    const [at, it] = [anchor.current, box.current];
    if (at === null || it === null) return;
    const { left, bottom } = at.getBoundingClientRect();
    const most = document.documentElement.clientWidth - it.offsetWidth - MARGIN;
    it.style.left = `${Math.max(MARGIN, Math.min(left, most))}px`;
    it.style.top = `${bottom + 4}px`;
    it.style.maxHeight = `${Math.max(160, innerHeight - bottom - 2 * MARGIN)}px`;
  };
  // The content may come later than the box, and is as wide as it is only then.
  useEffect(() => {
    const it = box.current;
    if (!open || it === null) return undefined;
    const observer = new ResizeObserver(() => {
      place();
      if (!it.contains(document.activeElement)) it.querySelector<HTMLElement>("input, button, a")?.focus();
    });
    observer.observe(it);
    return () => observer.disconnect();
  }, [open]);
  return (
    <>
      <button type="button" class={extra} ref={anchor} popovertarget={id} aria-haspopup="dialog" data-tip={title}>
        {button}
      </button>
      <div
        id={id}
        ref={box}
        class="popover"
        popover="auto"
        role="dialog"
        aria-label={label}
        onToggle={(event) => {
          const now = event.newState === "open";
          setOpen(now);
        }}
      >
        {open && children(() => box.current?.hidePopover())}
      </div>
    </>
  );
}
