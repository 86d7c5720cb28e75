/** The curves of allocators, by allocator. Pure. */

import type { Series } from "../../api/types";
import type { Curves } from "../../widgets/chart/LineChart";

export interface Allocator {
  /** Its host and name. */
  readonly name: string;
  /** Curves of one unit, drawn together. */
  readonly charts: readonly (Series | Curves)[];
}

/** Ids are `allocated:host/allocator`; curves of one allocator and unit are lines of one chart. */
export function allocatorsOf(series: readonly Series[]): Allocator[] {
  const allocators = new Map<string, Map<string, Series[]>>();
  for (const one of series) {
    const name = one.id.slice(one.id.indexOf(":") + 1);
    const units = allocators.get(name) ?? new Map<string, Series[]>();
    units.set(one.y.unit, [...(units.get(one.y.unit) ?? []), one]);
    allocators.set(name, units);
  }
  return [...allocators].map(([name, units]) => ({
    name,
    charts: [...units.values()].flatMap((curves): readonly (Series | Curves)[] => {
      const first = curves[0];
      if (first === undefined || curves.length === 1) return curves;
      const lines = curves.map((one) => ({ id: one.id, label: one.y.label, points: one.points }));
      return [
        { id: first.id, title: name, x: first.x, y: { label: first.y.unit === "B" ? "Bytes" : first.y.label, unit: first.y.unit }, lines },
      ];
    }),
  }));
}
