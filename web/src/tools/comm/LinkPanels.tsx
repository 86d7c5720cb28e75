/** What links carried: by axis of the mesh, by size of message, and who comes last. */

import { columnIndex, numberAt } from "../../api/read";
import type { Table } from "../../api/types";
import { formatInt } from "../../base/format";
import { go } from "../../state/route";
import { BarPanel } from "../BarPanel";
import { said } from "../bars";

const MOST = 24;

export function AxesPanel({ table }: { readonly table: Table | null }) {
  if (table === null) return null;
  return (
    <BarPanel
      table={table}
      spec={{
        name: ["axes", "axis"],
        label: (row) => said(table, row, "axes", "kind"),
        parts: [{ id: "bus_rate", name: "bus bandwidth", colour: "var(--m-collective)" }],
        text: (row) => said(table, row, "bus_rate", "utilization"),
        most: MOST,
      }}
      title="Bandwidth along each axis"
      note="on the bus, including waiting; as a share of the links' peak, if known"
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
        name: ["size"],
        parts: [{ id: "count", name: "messages", colour: "var(--busy)" }],
        text: (row) => said(table, row, "count", "exposed_ps"),
      }}
      title="Messages by size"
      note="how many, and their exposed time"
      what="sizes"
      picture="comm-sizes"
    />
  );
}

export function SkewPanel({ table }: { readonly table: Table | null }) {
  if (table === null) return null;
  const [last, shared] = [columnIndex(table, "last"), columnIndex(table, "shared")];
  const often = (row: Table["rows"][number]): string => {
    const [times, of] = [numberAt(row, last), numberAt(row, shared)];
    return times === null || of === null ? "" : `last ${formatInt(times)} of ${formatInt(of)}`;
  };
  return (
    <BarPanel
      table={table}
      spec={{
        name: ["device"],
        parts: [{ id: "caused_ps", name: "waiting that it causes", colour: "var(--odd)" }],
        text: (row) => [said(table, row, "caused_ps"), often(row)].filter((part) => part !== "").join(" · "),
        most: MOST,
      }}
      title="Who makes others wait at collectives"
      note="how long the others wait for it; a click makes that device the scope"
      what="devices"
      picture="comm-skew"
      onPick={(devices) => go({ scope: { devices } })}
    />
  );
}
