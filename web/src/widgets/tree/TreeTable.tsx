/** A tree as a table: rows open and close; only those in view are in the document. */

import { useEffect, useId, useMemo, useRef, useState } from "preact/hooks";

import { isNumeric } from "../../api/read";
import type { Column } from "../../api/types";
import type { SortKey } from "../../base/rows";
import { nextSort } from "../../base/rows";
import { HowLink } from "../Explained";
import { CellView } from "../table/CellView";
import { columnWidth, scrollToRow, visibleRows } from "../table/layout";
import type { FlatNode, Found } from "./flat";
import { visible } from "./flat";

const ROW_HEIGHT = 27;
const INDENT = 15;

export interface TreeTableProps {
  readonly label: string;
  readonly all: readonly FlatNode[];
  readonly columns: readonly Column[];
  /** Positions of the columns that are shown, in order. */
  readonly shown: readonly number[];
  readonly open: ReadonlySet<number>;
  readonly onOpen: (open: ReadonlySet<number>) => void;
  readonly found: Found | null;
  readonly sort: SortKey | null;
  readonly onSort: (sort: SortKey | null) => void;
  readonly selected: number | null;
  readonly onSelect: (index: number | null) => void;
}

const HEAD: Column = { id: "label", label: "Name", unit: "", kind: "text", doc: "What the node is called" };

export function TreeTable(props: TreeTableProps) {
  const { label, all, columns, open, found, sort, selected, onSelect } = props;
  const id = useId();
  const wrap = useRef<HTMLDivElement>(null);
  const [scrollTop, setScrollTop] = useState(0);
  const [height, setHeight] = useState(600);
  const [cursor, setCursor] = useState(0);
  const rows = useMemo(() => visible(all, columns, open, found, sort), [all, columns, open, found, sort?.column, sort?.descending]);
  const heads = useMemo(() => {
    const cells = all.map((one) => one.node.values);
    return props.shown.flatMap((index) => {
      const column = columns[index];
      return column === undefined ? [] : [{ column, index, width: columnWidth(columns, index, cells) }];
    });
  }, [all, columns, props.shown]);

  useEffect(() => {
    const element = wrap.current;
    if (element === null) return undefined;
    const observer = new ResizeObserver(() => setHeight(element.clientHeight));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  const moveTo = (position: number): void => {
    const next = Math.max(0, Math.min(rows.length - 1, position));
    setCursor(next);
    const element = wrap.current;
    if (element !== null) element.scrollTop = scrollToRow(element.scrollTop, element.clientHeight - 2 * ROW_HEIGHT, ROW_HEIGHT, next);
  };
  useEffect(() => {
    const position = selected === null ? -1 : rows.indexOf(selected);
    if (position >= 0) moveTo(position);
  }, [all, selected]);

  const set = (index: number, to: boolean): void => {
    const next = new Set(open);
    if (to) next.add(index);
    else next.delete(index);
    props.onOpen(next);
  };
  const at = Math.min(cursor, rows.length - 1);
  const current = all[rows[at] ?? -1];
  /** As in every tree: right opens, then goes in; left closes, then goes out. */
  const sideways = (key: string): void => {
    if (current === undefined) return;
    const isOpen = open.has(current.index);
    if (key === "ArrowRight") {
      if (current.node.children.length === 0) return;
      if (isOpen) moveTo(at + 1);
      else set(current.index, true);
    } else if (isOpen) set(current.index, false);
    else if (current.parent >= 0) moveTo(rows.indexOf(current.parent));
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.target !== event.currentTarget) return;
    const jumps: Record<string, number> = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      PageDown: at + 15,
      PageUp: at - 15,
      Home: 0,
      End: rows.length - 1,
    };
    const jump = jumps[event.key];
    if (jump !== undefined) moveTo(jump);
    else if (event.key === "ArrowRight" || event.key === "ArrowLeft") sideways(event.key);
    else if (event.key === "Enter" || event.key === " ") onSelect(rows[at] ?? null);
    else if (event.key === "Escape") onSelect(null);
    else return;
    event.preventDefault();
  };

  const range = visibleRows(scrollTop, height, ROW_HEIGHT, rows.length);
  const rowId = (position: number): string => `${id}-row-${position}`;
  const above = range.first * ROW_HEIGHT;
  const below = (rows.length - range.end) * ROW_HEIGHT;
  return (
    <div class="table-wrap fill tree-wrap" ref={wrap} onScroll={(event) => setScrollTop(event.currentTarget.scrollTop)}>
      <table
        class="data selectable tree"
        role="treegrid"
        aria-label={label}
        aria-rowcount={rows.length + 1}
        tabIndex={0}
        aria-activedescendant={rows.length > 0 ? rowId(at) : undefined}
        onKeyDown={onKeyDown}
      >
        <colgroup>
          <col class="tree-names" />
          {heads.map(({ width }) => (
            <col style={{ width: `${width}ch` }} />
          ))}
          <col />
        </colgroup>
        <thead>
          <tr>
            <Head column={HEAD} sort={sort} onSort={props.onSort} />
            {heads.map(({ column }) => (
              <Head column={column} sort={sort} onSort={props.onSort} />
            ))}
            <th class="slack" aria-hidden="true" />
          </tr>
        </thead>
        <tbody>
          {above > 0 && <Spacer height={above} span={heads.length + 2} />}
          {rows.slice(range.first, range.end).map((index, i) => {
            const one = all[index];
            if (one === undefined) return null;
            const position = range.first + i;
            const classes = [position % 2 === 1 ? "odd" : "", position === at ? "cursor" : "", index === selected ? "selected" : ""];
            const parts = one.node.children.length;
            return (
              <tr
                key={index}
                id={rowId(position)}
                class={classes.join(" ")}
                aria-level={one.depth + 1}
                aria-rowindex={position + 2}
                aria-selected={index === selected}
                aria-expanded={parts > 0 ? open.has(index) || (found !== null && !found.hits.has(index)) : undefined}
                onClick={() => {
                  setCursor(position);
                  onSelect(index === selected ? null : index);
                }}
              >
                <td title={one.path}>
                  <span class="tree-name" style={{ paddingLeft: `${one.depth * INDENT}px` }}>
                    {parts > 0 ? (
                      <button
                        type="button"
                        class="twist"
                        tabIndex={-1}
                        aria-label={`${open.has(index) ? "Close" : "Open"} ${one.node.label}`}
                        onClick={(event) => {
                          event.stopPropagation();
                          setCursor(position);
                          set(index, !open.has(index));
                        }}
                      >
                        <span aria-hidden="true">{open.has(index) || (found !== null && !found.hits.has(index)) ? "▾" : "▸"}</span>
                      </button>
                    ) : (
                      <span class="twist" aria-hidden="true" />
                    )}
                    <span class={found?.hits.has(index) === true ? "tree-label hit" : "tree-label"}>{one.node.label}</span>
                  </span>
                </td>
                {heads.map(({ column, index: at }) => {
                  const cell = one.node.values[at] ?? null;
                  // Words are about ops; a group that has none is not unknown.
                  return cell === null && !isNumeric(column) ? <td /> : <CellView cell={cell} column={column} full={1} />;
                })}
                <td class="slack" />
              </tr>
            );
          })}
          {below > 0 && <Spacer height={below} span={heads.length + 2} />}
        </tbody>
      </table>
      {rows.length === 0 && <p class="table-empty">Nothing in this tree has these words.</p>}
    </div>
  );
}

function Spacer({ height, span }: { readonly height: number; readonly span: number }) {
  return (
    <tr class="spacer" aria-hidden="true">
      <td colSpan={span} style={{ height: `${height}px` }} />
    </tr>
  );
}

function Head({
  column,
  sort,
  onSort,
}: {
  readonly column: Column;
  readonly sort: SortKey | null;
  readonly onSort: (sort: SortKey | null) => void;
}) {
  const active = sort?.column === column.id ? sort : null;
  const next = nextSort(column.id, isNumeric(column), sort);
  return (
    <th
      scope="col"
      class={isNumeric(column) ? "num" : undefined}
      title={column.doc}
      aria-sort={active === null ? "none" : active.descending ? "descending" : "ascending"}
    >
      <button type="button" tabIndex={-1} onClick={() => onSort(next)}>
        {column.label}
        <span class="arrow" aria-hidden="true">
          {active === null ? "" : active.descending ? "↓" : "↑"}
        </span>
      </button>
      <HowLink column={column} />
    </th>
  );
}
