/** Units of a chip by what they are for. Pure. */

import { columnIndex, numberAt, textAt } from "../../api/read";
import type { Table } from "../../api/types";

export interface UnitRow {
  /** Row of the table. */
  readonly row: number;
  readonly name: string;
  /** Achieved over peak; null where the cycles were not counted. */
  readonly share: number | null;
}

export interface UnitGroup {
  readonly name: string;
  readonly rows: readonly UnitRow[];
}

const GROUPS: readonly { readonly name: string; readonly begins: readonly string[] }[] = [
  { name: "Matrix units", begins: ["MXU", "Avg MXU", "No MXU", "1 MXU", "2 MXU"] },
  { name: "Vector and scalar units", begins: ["Scalar", "Vector", "VPU", "Vmem"] },
  { name: "Transpose and permute units", begins: ["XLU", "Avg XLU", "No XLU", "1 XLU", "2 XLU"] },
  { name: "HBM and links between chips", begins: ["HBM", "ICI"] },
  { name: "SparseCores", begins: ["TEC", "SC ", "SCS"] },
  { name: "Clocks", begins: ["Clocks", "Ext Throttle", "LDIDT"] },
];
const REST = "Other units";

export function devicesOf(table: Table | null): string[] {
  if (table === null) return [];
  const device = columnIndex(table, "device");
  return [...new Set(table.rows.map((row) => textAt(row, device) ?? ""))];
}

/** The units of a device, in groups that have any. */
export function groupsOf(table: Table | null, device: string): UnitGroup[] {
  if (table === null) return [];
  const [of, unit, core, share] = ["device", "unit", "core", "share"].map((id) => columnIndex(table, id)) as [
    number,
    number,
    number,
    number,
  ];
  const own = table.rows.flatMap((row, i) => (textAt(row, of) === device ? [{ row: i, cells: row }] : []));
  const cores = new Set(own.map(({ cells }) => textAt(cells, core)));
  const groups = new Map<string, UnitRow[]>([...GROUPS.map((group) => group.name), REST].map((name) => [name, []]));
  for (const { row, cells } of own) {
    const name = textAt(cells, unit) ?? "";
    const group = GROUPS.find((one) => one.begins.some((begin) => name.startsWith(begin)))?.name ?? REST;
    const label = cores.size > 1 ? `${name}, core ${textAt(cells, core) ?? "unknown"}` : name;
    groups.get(group)?.push({ row, name: label, share: numberAt(cells, share) });
  }
  return [...groups].flatMap(([name, rows]) => (rows.length === 0 ? [] : [{ name, rows }]));
}
