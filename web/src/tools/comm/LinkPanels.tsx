/** What links carried: by axis of the mesh, by size of message, and who arrives last. */

import { columnIndex } from "../../api/read";
import type { Table } from "../../api/types";
import { seriesVar } from "../../base/colour";
import { go } from "../../state/route";
import { BarPanel } from "../BarPanel";
import { said } from "../bars";

/** The first of these columns that the table has. */
function pick(table: Table, ...ids: string[]): string {
  return table.columns[columnIndex(table, ...ids)]?.id ?? "";
}

const MOST = 64;

export function AxesPanel({ table }: { readonly table: Table | null }) {
  if (table === null) return null;
  const rate = pick(table, "bus_rate", "bus_bandwidth", "bus_bytes_per_s", "algorithm_rate", "algorithm_bandwidth");
  return (
    <BarPanel
      table={table}
      spec={{
        name: ["axis", "axes"],
        parts: [{ id: rate, name: "bus bandwidth", colour: "var(--series-0)" }],
        text: (row) => said(table, row, rate, pick(table, "link_share", "utilisation", "share_of_peak", "peak_share")),
      }}
      title="Bandwidth by axis of the mesh"
      note="share of the links' peak where that is known"
      what="axes"
      picture="comm-axes"
    />
  );
}

export function SizesPanel({ table }: { readonly table: Table | null }) {
  if (table === null) return null;
  return (
    <BarPanel
      table={table}
      spec={{
        name: [pick(table, "size", "bucket", "range", "bytes")],
        parts: [{ id: pick(table, "count", "messages", "count_per_step"), name: "messages", colour: "var(--busy)" }],
      }}
      title="Messages by size"
      note="how many of each size"
      what="sizes"
      picture="comm-sizes"
    />
  );
}

export function SkewPanel({ table }: { readonly table: Table | null }) {
  if (table === null) return null;
  const late = pick(table, "late_ps", "lateness_ps", "mean_late_ps", "skew_ps");
  return (
    <BarPanel
      table={table}
      spec={{
        name: ["device", "host"],
        parts: [{ id: late, name: "late", colour: "var(--odd)" }],
        colour: (_, i) => seriesVar(i),
        text: (row) => said(table, row, late, pick(table, "last_share", "last_count")),
        most: MOST,
      }}
      title="Who arrives last at collectives"
      note="behind the first of the group; a click makes that device the scope"
      what="devices"
      picture="comm-skew"
      onPick={(devices) => go({ scope: { devices } })}
    />
  );
}
