import type { Table } from "../../api/types";
import { arrange } from "./stacks";
import { TablePanel } from "./TablePanel";

/** Several tables of a report, small ones side by side. */
export function TableStacks({ tables, name }: { readonly tables: readonly Table[]; readonly name: string }) {
  const panel = (table: Table) => <TablePanel key={table.id} table={table} name={name} />;
  return (
    <>
      {arrange(tables).map((part, i) =>
        part.kind === "wide" ? (
          panel(part.table)
        ) : (
          <div class="columns" key={`pair${i}`}>
            {part.stacks.map((stack, side) => (
              <div class="stack" key={side}>
                {stack.map(panel)}
              </div>
            ))}
          </div>
        ),
      )}
    </>
  );
}
