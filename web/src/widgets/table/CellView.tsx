import { isNumeric } from "../../api/read";
import type { Column } from "../../api/types";
import type { Cell } from "../../base/format";
import { formatCell } from "../../base/format";
import { foldName } from "../../base/names";

export interface CellProps {
  readonly cell: Cell;
  readonly column: Column;
  /** The share that fills the bar. */
  readonly full: number;
  /** Its words, where the column alone does not say what they are. */
  readonly text?: string;
  /** The size of a change that fills half of the cell: less goes to the left of the middle, more to the right. */
  readonly swing?: number | undefined;
  /** Where its text leads: an address of the page. */
  readonly link?: CellLink | null | undefined;
}

export interface CellLink {
  readonly href: string;
  /** The page that it leads to. */
  readonly nav: string;
}

/** One cell; a share carries a bar, a change one that begins in the middle. */
export function CellView({ cell, column, full, text = formatCell(cell, column.kind, column.unit), swing, link }: CellProps) {
  if (cell === null) return <td class={isNumeric(column) ? "num unknown" : "unknown"}>{text}</td>;
  if (swing !== undefined && typeof cell === "number") {
    const half = swing > 0 ? Math.min(1, Math.abs(cell) / swing) * 50 : 0;
    return (
      <td class="num swing">
        <span class={cell < 0 ? "swing-bar less" : "swing-bar"} style={{ left: `${cell < 0 ? 50 - half : 50}%`, width: `${half}%` }} />
        <span class="share-text">{cell > 0 ? `+${text}` : text.replace(/^-/, "−")}</span>
      </td>
    );
  }
  if (column.kind === "share" && typeof cell === "number") {
    return (
      <td class="num share">
        <span class="share-bar" style={{ width: `calc((100% - 8px) * ${Math.max(0, Math.min(1, cell / full)).toFixed(4)})` }} />
        <span class="share-text">{text}</span>
      </td>
    );
  }
  if (isNumeric(column)) return <td class="num">{text}</td>;
  const name = foldName(text);
  return (
    <td title={text.length > 24 ? text : undefined}>
      {link === null || link === undefined ? (
        name
      ) : (
        <a href={link.href} data-nav={link.nav} onClick={(event) => event.stopPropagation()}>
          {name}
        </a>
      )}
    </td>
  );
}
