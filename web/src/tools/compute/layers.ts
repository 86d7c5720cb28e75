/** Layers of a model in their own order, each as a stack of its phases. Pure. */

import { columnIndex, numberAt, textAt } from "../../api/read";
import type { Table } from "../../api/types";
import type { Stack } from "../../widgets/chart/stack";

export const PHASES = [
  { id: "forward_ps", name: "forward", colour: "var(--series-1)" },
  { id: "backward_ps", name: "backward", colour: "var(--series-0)" },
  { id: "recomputation_ps", name: "recomputation", colour: "var(--odd)" },
] as const;
const REST = { name: "other", colour: "var(--unknown)" };

/** What a phase is coloured by wherever it stands. */
export function phaseColour(name: string): string {
  const known = PHASES.find((phase) => phase.name === name)?.colour;
  return known ?? (name === "optimiser" ? "var(--series-3)" : name === "unknown" ? "var(--unknown)" : "var(--series-2)");
}

export function layerStacks(table: Table | null): Stack[] {
  if (table === null) return [];
  const at = (id: string) => columnIndex(table, id);
  const [name, self] = [at("layer"), at("self_ps")];
  const layers = table.rows.map((row) => {
    const parts = PHASES.flatMap((phase) => {
      const value = numberAt(row, at(phase.id));
      return value === null || value <= 0 ? [] : [{ name: phase.name, value, colour: phase.colour }];
    });
    const rest = (numberAt(row, self) ?? 0) - parts.reduce((sum, part) => sum + part.value, 0);
    return { label: textAt(row, name) ?? "", parts: rest > 0 ? [...parts, { ...REST, value: rest }] : parts };
  });
  return layers.filter((one) => one.parts.length > 0).sort((a, b) => a.label.localeCompare(b.label, "en", { numeric: true }));
}
