import { isNumeric } from "../../api/read";
import type { Column } from "../../api/types";
import type { Cell } from "../../base/format";
import { formatCell } from "../../base/format";

export interface CellProps {
  readonly cell: Cell;
  readonly column: Column;
  /** The share that fills the bar. */
  readonly full: number;
  /** Its words, where the column alone does not say what they are. */
  readonly text?: string;
}

/** One cell; a share carries a bar. */
export function CellView({ cell, column, full, text = formatCell(cell, column.kind, column.unit) }: CellProps) {
  if (cell === null) return <td class={isNumeric(column) ? "num unknown" : "unknown"}>{text}</td>;
  if (column.kind === "share" && typeof cell === "number") {
    return (
      <td class="num share">
        <span class="share-bar" style={{ width: `calc((100% - 8px) * ${Math.max(0, Math.min(1, cell / full)).toFixed(4)})` }} />
        <span class="share-text">{text}</span>
      </td>
    );
  }
  if (isNumeric(column)) return <td class="num">{text}</td>;
  return <td title={text.length > 24 ? text : undefined}>{text}</td>;
}
