/** What there is to draw, and the one interface of those who draw it. */

import type { Counter, DeviceOverlap, Flow, Hit, StepSpan } from "../../api/timeline";
import type { Picos, Px } from "../../base/units";
import type { ClassTable } from "./classes";
import type { Layout, Row, TrackRow } from "./layout";
import type { Palette } from "./palette";
import type { Picked } from "./picks";
import type { TileStore } from "./tiles";
import type { Viewport } from "./viewport";
import { timeToPx } from "./viewport";

export const RULER_HEIGHT: Px = 28;
export const STEPS_HEIGHT: Px = 18;

/** A stretch of time on some tracks; null stands for all that are shown. */
export interface Area extends Viewport {
  readonly tracks: readonly number[] | null;
}

export interface Scene {
  readonly width: Px;
  readonly height: Px;
  readonly scrollTop: Px;
  readonly view: Viewport;
  readonly bounds: Viewport;
  readonly layout: Layout;
  /** Height of the pinned rows that is shown. */
  readonly pinned: Px;
  readonly store: TileStore;
  readonly classes: ClassTable;
  /** Colour by the name's family instead of the class. */
  readonly byName: boolean;
  /** The class that stands out; null for none, -1 for what is of no class. */
  readonly highlight: number | null;
  readonly palette: Palette;
  readonly selected: Picked | null;
  readonly hovered: Picked | null;
  readonly chosen: readonly Picked[];
  /** The scope of the other pages, shaded outside. */
  readonly scope: Viewport | null;
  readonly area: Area | null;
  readonly marks: readonly Picos[];
  readonly steps: readonly StepSpan[];
  readonly counters: ReadonlyMap<number, readonly Counter[]>;
  readonly overlap: readonly DeviceOverlap[];
  readonly showOverlap: boolean;
  readonly showBubbles: boolean;
  readonly hits: readonly Hit[];
  readonly hit: Hit | null;
  readonly flows: readonly Flow[];
  /** The row that shows a track, or the closed one that it is in. */
  readonly rowOf: ReadonlyMap<number, Row>;
}

export interface Renderer {
  draw(scene: Scene): void;
}

/** Height of the rulers over the tracks. */
export function headOf(scene: Pick<Scene, "steps">): Px {
  return RULER_HEIGHT + (scene.steps.length > 0 ? STEPS_HEIGHT : 0);
}

/** From a row's own y to the canvas's. */
export function offsetOf(scene: Scene, row: Row): Px {
  const head = headOf(scene);
  return row.kind === "track" && row.pinned ? head : head + scene.pinned - scene.scrollTop;
}

export function xOf(scene: Scene, time: Picos): Px {
  return timeToPx(scene.view, scene.width, time);
}

export function isTrack(row: Row | undefined): row is TrackRow {
  return row?.kind === "track";
}
