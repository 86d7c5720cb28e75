/** Lines with their time beside them. Far from lines that take time the text is folded. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { formatDuration, formatInt } from "../../base/format";
import { scrollToRow, visibleRows } from "../../widgets/table/layout";
import type { Line } from "./lines";
import { folded } from "./fold";

const LINE_HEIGHT = 18;
const HEAD = 26;

export interface CodeViewProps {
  readonly label: string;
  readonly lines: readonly Line[];
  /** Lines that are shown around one that takes time; null shows all. */
  readonly around: number | null;
  /** The line that is brought into view, or -1. */
  readonly at: number;
  readonly selected: number | null;
  readonly onSelect: (line: number | null) => void;
}

export function CodeView({ label, lines, around, at, selected, onSelect }: CodeViewProps) {
  const box = useRef<HTMLDivElement>(null);
  const [scrollTop, setScrollTop] = useState(0);
  const [height, setHeight] = useState(430);
  const rows = useMemo(() => folded(lines, around), [lines, around]);
  const [cursor, setCursor] = useState(0);
  const full = useMemo(() => lines.reduce((most, line) => Math.max(most, line.own ?? 0, line.total ?? 0), 0), [lines]);
  const hasText = lines.some((line) => line.text !== null);
  useEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const observer = new ResizeObserver(() => setHeight(element.clientHeight));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    const row = rows.findIndex((one) => one.line === at);
    const element = box.current;
    if (row < 0 || element === null) return;
    setCursor(row);
    const top = row * LINE_HEIGHT;
    if (top < element.scrollTop || top + LINE_HEIGHT > element.scrollTop + element.clientHeight - HEAD)
      element.scrollTop = Math.max(0, top - element.clientHeight / 3);
  }, [rows, at]);

  const pick = (row: number): void => {
    const line = rows[row]?.line ?? -1;
    if (line >= 0 && (lines[line]?.row ?? -1) >= 0) onSelect(line === selected ? null : line);
  };
  /** From one line that takes time to the next. */
  const next = (from: number, step: 1 | -1): number => {
    for (let row = from + step; row >= 0 && row < rows.length; row += step) {
      if ((lines[rows[row]?.line ?? -1]?.row ?? -1) >= 0) return row;
    }
    return from;
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const jumps: Record<string, number> = {
      ArrowDown: cursor + 1,
      ArrowUp: cursor - 1,
      PageDown: cursor + 20,
      PageUp: cursor - 20,
      Home: 0,
      End: rows.length - 1,
      n: next(cursor, 1),
      p: next(cursor, -1),
    };
    const jump = event.ctrlKey || event.metaKey || event.altKey ? undefined : jumps[event.key];
    if (jump !== undefined) {
      const to = Math.max(0, Math.min(rows.length - 1, jump));
      setCursor(to);
      const element = box.current;
      if (element !== null) element.scrollTop = scrollToRow(element.scrollTop, element.clientHeight - HEAD - LINE_HEIGHT, LINE_HEIGHT, to);
    } else if (event.key === "Enter" || event.key === " ") pick(cursor);
    else if (event.key === "Escape") onSelect(null);
    else return;
    event.preventDefault();
  };
  const range = visibleRows(scrollTop, height, LINE_HEIGHT, rows.length, 30);
  const below = (rows.length - range.end) * LINE_HEIGHT;
  return (
    <div
      class="code"
      ref={box}
      tabIndex={0}
      aria-label={`${label}; n and p go to the next and previous line that takes time`}
      role="region"
      onKeyDown={onKeyDown}
      onScroll={(event) => setScrollTop(event.currentTarget.scrollTop)}
    >
      <table class="code-lines">
        <thead>
          <tr>
            <th scope="col" title="Self time of the ops whose innermost frame is this line">
              Own time
            </th>
            <th scope="col" title="Self time of the ops that have this line anywhere in their stack">
              With callees
            </th>
            <th scope="col">Line</th>
            <th scope="col" class="words">
              {hasText ? "Text" : ""}
            </th>
          </tr>
        </thead>
        <tbody>
          {range.first > 0 && (
            <tr aria-hidden="true">
              <td colSpan={4} style={{ height: `${range.first * LINE_HEIGHT}px` }} />
            </tr>
          )}
          {rows.slice(range.first, range.end).map((row, i) => {
            const position = range.first + i;
            const line = lines[row.line];
            if (line === undefined)
              return (
                <tr key={`fold-${position}`} class={position === cursor ? "cursor" : ""}>
                  <td colSpan={3} />
                  <td class="words number">{`… ${formatInt(row.hidden)} lines`}</td>
                </tr>
              );
            const timed = line.row >= 0;
            return (
              <tr
                key={row.line}
                class={`${timed ? "timed-row" : ""}${position === cursor ? " cursor" : ""}`}
                aria-selected={row.line === selected}
                onClick={() => {
                  setCursor(position);
                  pick(position);
                }}
              >
                <Time value={timed ? line.own : null} full={full} />
                <Time value={timed ? line.total : null} full={full} />
                <td class="number">{line.number ?? "?"}</td>
                <td class="words">{line.text ?? ""}</td>
              </tr>
            );
          })}
          {below > 0 && (
            <tr aria-hidden="true">
              <td colSpan={4} style={{ height: `${below}px` }} />
            </tr>
          )}
        </tbody>
      </table>
    </div>
  );
}

/** A time with its bar; nothing where the line takes none. */
function Time({ value, full }: { readonly value: number | null; readonly full: number }) {
  if (value === null || value === 0) return <td class="timed" />;
  return (
    <td class="timed">
      <span class="share-bar" style={{ width: `${full > 0 ? (value / full) * 100 : 0}%` }} />
      <span>{formatDuration(value)}</span>
    </td>
  );
}
