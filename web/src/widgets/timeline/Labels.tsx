/** The names beside the tracks. Each can be closed, pinned, moved and hidden, by its menu, by keys, or by dragging. */

import { useRef, useState } from "preact/hooks";

import { formatInt } from "../../base/format";
import type { Row } from "./layout";
import { hostOf, rowAt, rowsBetween, siblingsOf } from "./layout";
import type { TimelineModel } from "./model";
import { TrackMenu } from "./TrackMenu";
import { keepEnds, withoutHost } from "./slices";

export interface LabelsProps {
  readonly model: TimelineModel;
  readonly gutter: number;
  readonly rows: readonly Row[];
  /** From a row's y to the label's. */
  readonly shift: number;
  readonly onScopeTo: ((device: string) => void) | undefined;
}

/** Hosts and devices are few; of the tracks only those near the screen get a label. */
export function rowsNearScreen(rows: readonly Row[], top: number, bottom: number): Row[] {
  const near = new Set(rowsBetween(rows, top, bottom));
  return rows.filter((row) => row.kind !== "track" || near.has(row));
}

interface OpenMenu {
  readonly row: Row;
  readonly from: HTMLElement;
}

const DRAG_SLOP = 6;

export function Labels({ model, gutter, rows, shift, onScopeTo }: LabelsProps) {
  const [menu, setMenu] = useState<OpenMenu | null>(null);
  return (
    <>
      {rows.map((row) => (
        <RowLabel
          key={row.key}
          model={model}
          row={row}
          gutter={gutter}
          y={row.y + shift}
          shift={shift}
          onMenu={(from) => setMenu(menu?.row.key === row.key ? null : { row, from })}
          menuOpen={menu?.row.key === row.key}
        />
      ))}
      {menu !== null && <TrackMenu model={model} row={menu.row} from={menu.from} onScopeTo={onScopeTo} onClose={() => setMenu(null)} />}
    </>
  );
}

interface RowLabelProps {
  readonly model: TimelineModel;
  readonly row: Row;
  readonly gutter: number;
  readonly y: number;
  readonly shift: number;
  readonly onMenu: (from: HTMLElement) => void;
  readonly menuOpen: boolean;
}

function RowLabel({ model, row, gutter, y, shift, onMenu, menuOpen }: RowLabelProps) {
  const drag = useRef<{ y: number; moved: boolean } | null>(null);
  const { key } = row;
  const place = { top: `${y}px`, height: `${row.height}px`, width: `${gutter}px` };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey) return;
    if (event.altKey && (event.key === "ArrowUp" || event.key === "ArrowDown")) model.move(key, event.key === "ArrowUp" ? -1 : 1);
    else if (event.altKey) return;
    else if (event.key === "p" && row.kind === "track") model.pin(key);
    else if (event.key === "x" && row.kind === "track") model.toggleInArea(row.track.id);
    else if (event.key === "c") model.toggle(key);
    else if (event.key === "h") model.hide(key);
    else return;
    event.preventDefault();
    event.stopPropagation();
    // The label may stand elsewhere now; the focus goes with it.
    const { id } = event.currentTarget as HTMLElement;
    setTimeout(() => document.getElementById(id)?.focus());
  };
  const onPointerMove = (event: PointerEvent): void => {
    if (drag.current === null) return;
    if (Math.abs(event.clientY - drag.current.y) < DRAG_SLOP && !drag.current.moved) return;
    drag.current.moved = true;
    const area = (event.currentTarget as HTMLElement).closest(".tl-labels, .tl-pinned");
    if (area === null) return;
    const under = rowAt(
      row.kind === "track" && row.pinned ? model.layout.value.pinned : model.layout.value.rows,
      event.clientY - area.getBoundingClientRect().top - shift,
    );
    if (under === null || under.key === key) return;
    moveTo(model, row, under);
  };
  const hands = {
    onKeyDown,
    onPointerDown: (event: PointerEvent) => {
      if (event.button !== 0 || event.pointerType === "touch") return;
      (event.currentTarget as HTMLElement).setPointerCapture(event.pointerId);
      drag.current = { y: event.clientY, moved: false };
    },
    onPointerMove,
    onClick: (event: MouseEvent) => {
      const dragged = drag.current?.moved === true;
      drag.current = null;
      if (dragged) return;
      if (row.kind === "track" && (event.ctrlKey || event.metaKey || event.shiftKey)) model.toggleInArea(row.track.id);
      else if (row.kind === "track") onMenu(event.currentTarget as HTMLElement);
      else model.toggle(key);
    },
    onPointerCancel: () => (drag.current = null),
  };
  if (row.kind === "track") {
    const several = `${formatInt(row.track.events)} events`;
    const whose = row.pinned ? `${row.group.name} ${row.track.name}` : row.track.name;
    return (
      <button
        type="button"
        id={`tl-${key}`}
        class={row.pinned ? "tl-track pinned" : "tl-track"}
        style={place}
        title={`${row.group.name}, ${row.track.name}: ${several}`}
        aria-label={`${whose}, ${several}. Options`}
        aria-haspopup="menu"
        aria-expanded={menuOpen}
        {...hands}
      >
        <span class="tl-name">{row.pinned ? keepEnds(whose, Math.floor(gutter / 7)) : row.track.name}</span>
      </button>
    );
  }
  const name = row.kind === "host" ? row.host : withoutHost(row.group.name, hostOfShown(model, row));
  const inside = row.kind === "host" ? `${row.groups} groups` : `${row.group.tracks.length} tracks`;
  // Beside the arrow and the menu, and beside the number of tracks where there is room for one.
  const letters = Math.floor((gutter - 22) / 7.4) - (row.open || gutter < 100 ? 3 : 9);
  return (
    <div class={row.kind === "host" ? "tl-host-row" : "tl-group-row"} style={place}>
      <button
        type="button"
        id={`tl-${key}`}
        class={row.kind === "host" ? "tl-host" : "tl-group"}
        title={row.kind === "host" ? `host ${row.host}` : `${row.group.name} (${row.group.kind})`}
        aria-expanded={row.open}
        {...hands}
      >
        <span aria-hidden="true">{row.open ? "▾" : "▸"}</span> {keepEnds(name, letters)}
        {!row.open && <span class="tl-kind">{inside}</span>}
      </button>
      <button
        type="button"
        class="tl-more"
        aria-label={`Options of ${name}`}
        aria-haspopup="menu"
        aria-expanded={menuOpen}
        onClick={(event) => onMenu(event.currentTarget)}
      >
        ⋮
      </button>
    </div>
  );
}

/** The host's name is left out of a group's where hosts have rows of their own. */
function hostOfShown(model: TimelineModel, row: Row): string {
  const several = model.layout.value.rows.some((one) => one.kind === "host");
  return several && row.kind === "group" ? hostOf(row.group) : "";
}

/** Puts a dragged row where the one under the pointer stands, if they are siblings. */
function moveTo(model: TimelineModel, row: Row, under: Row): void {
  const siblings = new Set(siblingsOf(model.tracks.groups, row.key));
  // Over a track of another group the group itself is meant.
  const target = siblings.has(under.key) ? under.key : under.kind === "track" && siblings.has(under.group.id) ? under.group.id : null;
  if (target === null || target === row.key) return;
  const rows = row.kind === "track" && row.pinned ? model.layout.value.pinned : model.layout.value.rows;
  const keys = rows.map((one) => one.key).filter((key) => siblings.has(key) || (row.kind === "track" && row.pinned));
  model.move(row.key, keys.indexOf(target) - keys.indexOf(row.key));
}
