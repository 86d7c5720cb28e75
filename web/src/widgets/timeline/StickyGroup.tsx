/** The device or host whose tracks are at the top of the screen, once its own row has scrolled away. */

import type { Px } from "../../base/units";
import type { GroupRow, Row } from "./layout";
import { GROUP_HEIGHT, firstRowBelow, hostOf } from "./layout";
import type { TimelineModel } from "./model";
import { keepEnds, withoutHost } from "./slices";

/** The open group whose row is above the top while a track of it is below; null where there is none. */
export function groupAbove(rows: readonly Row[], top: Px): GroupRow | null {
  const first = rows[firstRowBelow(rows, top)];
  if (first?.kind !== "track") return null;
  return rows.find((row): row is GroupRow => row.kind === "group" && row.group === first.group) ?? null;
}

export interface StickyGroupProps {
  readonly model: TimelineModel;
  readonly row: GroupRow | null;
  readonly top: Px;
  readonly gutter: Px;
}

export function StickyGroup({ model, row, top, gutter }: StickyGroupProps) {
  if (row === null) return null;
  const several = (model.tracks.hosts?.length ?? 0) > 1;
  return (
    <div
      class="tl-sticky"
      style={{ top: `${top}px`, width: `${gutter}px`, height: `${GROUP_HEIGHT}px`, marginBottom: `-${GROUP_HEIGHT}px` }}
    >
      <button
        type="button"
        class="tl-sticky-group"
        tabIndex={-1}
        title={`${row.group.name}: back to its first track`}
        onClick={() => (model.wanted.value = row.group.tracks[0] === undefined ? null : `t${row.group.tracks[0].id}`)}
      >
        <span aria-hidden="true">▾</span>{" "}
        {keepEnds(withoutHost(row.group.name, several ? hostOf(row.group) : ""), Math.floor(gutter / 7.4) - 4)}
      </button>
    </div>
  );
}
