/** What can be done with a track, a device or a host. */

import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

import type { Row } from "./layout";
import type { TimelineModel } from "./model";

export interface TrackMenuProps {
  readonly model: TimelineModel;
  readonly row: Row;
  /** The button that opened it; the focus returns there. */
  readonly from: HTMLElement;
  readonly onScopeTo: ((device: string) => void) | undefined;
  readonly onClose: () => void;
}

export function TrackMenu({ model, row, from, onScopeTo, onClose }: TrackMenuProps) {
  const menu = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const own = menu.current;
    if (own === null) return;
    const rect = from.getBoundingClientRect();
    own.style.left = `${Math.max(4, Math.min(rect.left + 20, innerWidth - own.offsetWidth - 8))}px`;
    own.style.top = `${Math.max(4, Math.min(rect.top + Math.min(rect.height, 26), innerHeight - own.offsetHeight - 8))}px`;
    own.querySelector("button")?.focus();
  }, []);
  useEffect(() => {
    const away = (event: Event): void => {
      const target = event.target as Node;
      if (menu.current?.contains(target) !== true && !from.contains(target)) onClose();
    };
    addEventListener("pointerdown", away);
    addEventListener("wheel", away);
    return () => {
      removeEventListener("pointerdown", away);
      removeEventListener("wheel", away);
    };
  });
  const close = (): void => {
    onClose();
    document.getElementById(from.id)?.focus();
    if (from.id === "") from.focus();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const items = [...(menu.current?.querySelectorAll("button") ?? [])];
    const at = items.indexOf(document.activeElement as HTMLButtonElement);
    if (event.key === "Escape" || event.key === "Tab") close();
    else if (event.key === "ArrowDown") items[(at + 1) % items.length]?.focus();
    else if (event.key === "ArrowUp") items[(at + items.length - 1) % items.length]?.focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const device = row.kind === "group" ? (row.group.device ?? null) : null;
  return (
    <div class="tl-menu" role="menu" ref={menu} aria-label="Options of the track" onKeyDown={onKeyDown}>
      {actionsOf(model, row).map(([text, act]) => (
        <button
          type="button"
          role="menuitem"
          onClick={() => {
            act();
            close();
          }}
        >
          {text}
        </button>
      ))}
      {device !== null && onScopeTo !== undefined && (
        <button type="button" role="menuitem" onClick={() => onScopeTo(device)}>
          Scope every page to this device
        </button>
      )}
    </div>
  );
}

function actionsOf(model: TimelineModel, row: Row): (readonly [string, () => void])[] {
  const { key } = row;
  const actions: (readonly [string, () => void])[] = [];
  if (row.kind === "track") {
    actions.push([row.pinned ? "Unpin" : "Pin to the top", () => model.pin(key)]);
    actions.push([row.flat ? "Show all levels" : "Collapse to one line", () => model.toggle(key)]);
    const area = { start: model.view.value.start, end: model.view.value.end, tracks: [row.track.id] };
    if (row.track.counter !== true) actions.push(["Totals of what is in view", () => (model.area.value = area)]);
  } else {
    actions.push([row.open ? "Close" : "Open", () => model.toggle(key)]);
    if (row.kind === "group") actions.push(["Close all others", () => closeOthers(model, key)]);
  }
  actions.push(["Move up", () => model.move(key, -1)], ["Move down", () => model.move(key, 1)], ["Hide", () => model.hide(key)]);
  return actions;
}

function closeOthers(model: TimelineModel, key: string): void {
  const others = model.tracks.groups.map((group) => group.id).filter((id) => id !== key);
  const tracks = [...model.how.value.closed].filter((one) => /^t\d+$/.test(one));
  model.arrange({ closed: new Set([...others, ...tracks]) });
}
