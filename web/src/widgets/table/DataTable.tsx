/** A report's table: only the rows in view are in the document, so thousands stay smooth. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { cellText, columnIndex, isMixed, isNumeric, unitColumn } from "../../api/read";
import type { Column, Table } from "../../api/types";
import type { Cell } from "../../base/format";
import type { SortKey } from "../../base/rows";
import { filteredIndex, nextSort, sortedIndex } from "../../base/rows";
import { explain } from "../../base/units";
import { isMarkedWhole, markIn } from "../../state/mark";
import { HowLink } from "../Explained";
import type { CellLink } from "./CellView";
import { CellView } from "./CellView";
import { barFull, columnWidth, knownColumns, largest, scrollToRow, visibleRows, withSecond } from "./layout";

export const ROW_HEIGHT = 27;

/** Columns of changes: drawn with a sign, and with bars to both sides of the middle. */
const CHANGES = ["delta_ps", "delta_bytes"];

export interface DataTableProps {
  readonly table: Table;
  readonly sort?: SortKey | null;
  readonly onSort?: (key: SortKey | null) => void;
  readonly filter?: string;
  /** Index of the row into `table.rows`. */
  readonly selected?: number | null;
  readonly onSelect?: (row: number | null) => void;
  readonly onHover?: (row: number | null) => void;
  /** Id of a column that stands beside the first, wherever the report has it. */
  readonly second?: string | undefined;
  /** The word for a cell that is empty because there is nothing, as opposed to unknown; null where it is unknown. */
  readonly absent?: (row: readonly Cell[], index: number) => string | null;
  /** Where the first cell of a row leads; null where it leads nowhere. */
  readonly linkOf?: (row: readonly Cell[]) => CellLink | null;
  /** Fill the height that is left instead of growing to a limit. */
  readonly fill?: boolean;
  readonly onCount?: (shown: number) => void;
}

export function DataTable(props: DataTableProps) {
  const { table, filter = "", selected = null, onSelect, onHover } = props;
  const [ownSort, setOwnSort] = useState<SortKey | null>(null);
  const sort = props.onSort ? (props.sort ?? null) : ownSort;
  const setSort = props.onSort ?? setOwnSort;

  const wrap = useRef<HTMLDivElement>(null);
  const [scrollTop, setScrollTop] = useState(0);
  const [height, setHeight] = useState(600);
  const [cursor, setCursor] = useState(0);

  const shown = useMemo(
    () =>
      withSecond(knownColumns(table.columns, table.rows), columnIndex(table, props.second ?? "")).flatMap((index) => {
        const column = table.columns[index];
        return column === undefined ? [] : [{ column, index, width: columnWidth(table.columns, index, table.rows) }];
      }),
    [table, props.second],
  );
  // The first column stays in sight while the others scroll; on a phone it must leave room for them. The sum is the table's own
  // width: without one a browser makes columns as wide as their longest text.
  // Letters may be wider than the digits that `ch` measures.
  const wide = shown.map(({ column, width }, i) =>
    i === 0 ? `min(${width}ch + 12px, 44vw)` : isNumeric(column) ? `${width}ch` : `(${width}ch + 12px)`,
  );
  const units = unitColumn(table.columns);
  const unknown = table.columns.filter((column, i) => i !== units && !shown.some((one) => one.column === column));
  const full = useMemo(() => table.columns.map((column, i) => (column.kind === "share" ? barFull(column, i, table.rows) : 1)), [table]);
  const swingAt = columnIndex(table, ...CHANGES);
  const most = useMemo(() => largest(table.rows, swingAt), [table, swingAt]);
  const order = useMemo(() => {
    const text = table.columns.flatMap((column, i) => (isNumeric(column) ? [] : [i]));
    const kept = filteredIndex(table.rows, text, filter);
    const column = sort === null ? -1 : table.columns.findIndex((c) => c.id === sort.column);
    return column < 0 || sort === null ? kept : sortedIndex(table.rows, kept, column, sort.descending);
  }, [table, filter, sort?.column, sort?.descending]);

  useEffect(() => {
    props.onCount?.(order.length);
  }, [order.length]);

  useEffect(() => {
    const element = wrap.current;
    if (element === null) return undefined;
    const observer = new ResizeObserver(() => setHeight(element.clientHeight));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  /** Words where the column alone does not say them. */
  const wordsOf = (row: number, index: number, column: Column): { readonly text?: string } => {
    const cells = table.rows[row] ?? [];
    const none = (cells[index] ?? null) === null ? (props.absent?.(cells, index) ?? null) : null;
    return none !== null ? { text: none } : isMixed(column) ? { text: cellText(table.columns, cells, index) } : {};
  };
  const range = visibleRows(scrollTop, height, ROW_HEIGHT, order.length);
  const rowId = (position: number): string => `${table.id}-row-${position}`;

  const moveTo = (position: number): void => {
    const next = Math.max(0, Math.min(order.length - 1, position));
    setCursor(next);
    onHover?.(order[next] ?? null);
    const element = wrap.current;
    // The header sticks over the first row's worth of space.
    if (element !== null) element.scrollTop = scrollToRow(element.scrollTop, element.clientHeight - 2 * ROW_HEIGHT, ROW_HEIGHT, next);
  };
  // A row that the URL names is brought into view once.
  useEffect(() => {
    const position = selected === null ? -1 : order.indexOf(selected);
    if (position > 0) moveTo(position);
  }, [table]);
  // So is a row that a finding rests on, with its table.
  const mark = markIn(table.id);
  const whole = isMarkedWhole(table.id);
  const marked = mark === "" ? -1 : table.rows.findIndex((row) => String(row[0] ?? "") === mark);
  useEffect(() => {
    const position = order.indexOf(marked);
    if (position >= 0) moveTo(position);
    if (position >= 0 || whole) wrap.current?.scrollIntoView({ block: "center" });
  }, [marked, whole, table]);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (onSelect === undefined || event.target !== event.currentTarget) return;
    const jumps: Record<string, number> = {
      ArrowDown: cursor + 1,
      ArrowUp: cursor - 1,
      PageDown: cursor + 15,
      PageUp: cursor - 15,
      Home: 0,
      End: order.length - 1,
    };
    const jump = jumps[event.key];
    if (jump !== undefined) moveTo(jump);
    else if (event.key === "Enter" || event.key === " ") onSelect(order[cursor] ?? null);
    else if (event.key === "Escape") onSelect(null);
    else return;
    event.preventDefault();
  };

  const above = range.first * ROW_HEIGHT;
  const below = (order.length - range.end) * ROW_HEIGHT;
  return (
    <>
      <div
        class={`table-wrap${props.fill === true ? " fill" : ""}${whole ? " marked" : ""}`}
        ref={wrap}
        onScroll={(event) => setScrollTop(event.currentTarget.scrollTop)}
      >
        <table
          class={`data${onSelect ? " selectable" : ""}`}
          style={{ width: `calc(${wide.join(" + ")})` }}
          role={onSelect ? "grid" : undefined}
          aria-label={table.title}
          aria-rowcount={order.length + 1}
          tabIndex={0}
          aria-activedescendant={onSelect && order.length > 0 ? rowId(cursor) : undefined}
          onKeyDown={onKeyDown}
          onMouseLeave={() => onHover?.(null)}
        >
          <colgroup>
            {wide.map((width) => (
              <col style={{ width: `calc(${width})` }} />
            ))}
            <col />
          </colgroup>
          <thead>
            <tr>
              {shown.map(({ column }) => (
                <HeaderCell column={column} sort={sort} onSort={setSort} />
              ))}
              <th class="slack" aria-hidden="true" />
            </tr>
          </thead>
          <tbody>
            {above > 0 && (
              <tr class="spacer" aria-hidden="true">
                <td style={{ height: `${above}px` }} />
              </tr>
            )}
            {order.slice(range.first, range.end).map((row, i) => {
              const position = range.first + i;
              const classes = [
                position % 2 === 1 ? "odd" : "",
                row === selected ? "selected" : "",
                position === cursor ? "cursor" : "",
                row === marked ? "marked" : "",
              ];
              return (
                <tr
                  key={row}
                  id={rowId(position)}
                  class={classes.join(" ").trim()}
                  aria-rowindex={position + 2}
                  aria-selected={onSelect ? row === selected : undefined}
                  onClick={() => {
                    setCursor(position);
                    onSelect?.(row === selected ? null : row);
                  }}
                  onMouseEnter={() => onHover?.(row)}
                >
                  {shown.map(({ column, index }, place) => (
                    <CellView
                      link={place === 0 ? props.linkOf?.(table.rows[row] ?? []) : null}
                      cell={table.rows[row]?.[index] ?? null}
                      column={column}
                      full={full[index] ?? 1}
                      {...wordsOf(row, index, column)}
                      swing={index === swingAt ? most : undefined}
                    />
                  ))}
                  <td class="slack" />
                </tr>
              );
            })}
            {below > 0 && (
              <tr class="spacer" aria-hidden="true">
                <td style={{ height: `${below}px` }} />
              </tr>
            )}
          </tbody>
        </table>
        {order.length === 0 && <p class="table-empty">{filter === "" ? "No rows" : `No row matches “${filter}”`}</p>}
      </div>
      {unknown.length > 0 && <p class="all-unknown">{`Unknown in every row: ${unknown.map((column) => column.label).join(", ")}`}</p>}
    </>
  );
}

interface HeaderProps {
  readonly column: Column;
  readonly sort: SortKey | null;
  readonly onSort: (key: SortKey | null) => void;
}

/** Numbers sort largest first, text from A; a third click gives the server's order back. */
function HeaderCell({ column, sort, onSort }: HeaderProps) {
  const active = sort?.column === column.id ? sort : null;
  const next = nextSort(column.id, isNumeric(column), sort);
  return (
    <th
      class={isNumeric(column) ? "num" : ""}
      scope="col"
      aria-sort={active === null ? "none" : active.descending ? "descending" : "ascending"}
    >
      <button type="button" data-tip={explain(column.doc, column.unit, column.id)} onClick={() => onSort(next)}>
        <span>{column.label}</span>
        <span class="arrow" aria-hidden="true">
          {active === null ? "" : active.descending ? "↓" : "↑"}
        </span>
      </button>
      <HowLink column={column} />
    </th>
  );
}
