/** A text in a fixed pitch. Only the lines in view are in the document, so a program of 30,000 lines stays smooth. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { scrollToRow, visibleRows } from "../table/layout";
import { splitLines, widest } from "./lines";

const LINE_HEIGHT = 18;

export interface TextViewProps {
  readonly text: string;
  readonly label: string;
  /** The line to show, or -1. */
  readonly at?: number;
  /** Called with the line that was clicked, or that Enter was pressed on. */
  readonly onPick?: (line: number, text: string) => void;
  readonly fill?: boolean;
}

export function TextView({ text, label, at = -1, onPick, fill = false }: TextViewProps) {
  const box = useRef<HTMLDivElement>(null);
  const [scrollTop, setScrollTop] = useState(0);
  const [height, setHeight] = useState(430);
  const [cursor, setCursor] = useState(0);
  const lines = useMemo(() => splitLines(text), [text]);
  const width = useMemo(() => widest(lines), [lines]);

  useEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const observer = new ResizeObserver(() => setHeight(element.clientHeight));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    const element = box.current;
    if (element === null || at < 0) return;
    setCursor(at);
    const top = at * LINE_HEIGHT;
    // A few lines of what stands around it, unless it is in sight already.
    if (top < element.scrollTop || top + LINE_HEIGHT > element.scrollTop + element.clientHeight)
      element.scrollTop = Math.max(0, top - element.clientHeight / 3);
  }, [at, lines]);

  const onKeyDown = (event: KeyboardEvent): void => {
    if (onPick === undefined) return;
    const jumps: Record<string, number> = { ArrowDown: cursor + 1, ArrowUp: cursor - 1, PageDown: cursor + 20, PageUp: cursor - 20 };
    const jump = jumps[event.key];
    if (jump !== undefined) {
      const next = Math.max(0, Math.min(lines.length - 1, jump));
      setCursor(next);
      const element = box.current;
      if (element !== null) element.scrollTop = scrollToRow(element.scrollTop, element.clientHeight - LINE_HEIGHT, LINE_HEIGHT, next);
    } else if (event.key === "Enter" || event.key === " ") onPick(cursor, lines[cursor] ?? "");
    else return;
    event.preventDefault();
  };

  const range = visibleRows(scrollTop, height, LINE_HEIGHT, lines.length, 20);
  const lineId = (line: number): string => `line-${line}`;
  return (
    <div
      class={`text-view${fill ? " fill" : ""}${onPick === undefined ? "" : " pickable"}`}
      ref={box}
      tabIndex={0}
      role={onPick === undefined ? "region" : "listbox"}
      aria-label={label}
      aria-activedescendant={onPick === undefined ? undefined : lineId(cursor)}
      onScroll={(event) => setScrollTop(event.currentTarget.scrollTop)}
      onKeyDown={onKeyDown}
    >
      <div
        class="text-lines"
        role={onPick === undefined ? undefined : "presentation"}
        style={{ height: `${lines.length * LINE_HEIGHT}px`, minWidth: `calc(${width}ch + 20px)` }}
      >
        {lines.slice(range.first, range.end).map((line, i) => {
          const number = range.first + i;
          return (
            <div
              key={number}
              id={onPick === undefined ? undefined : lineId(number)}
              role={onPick === undefined ? undefined : "option"}
              aria-selected={onPick === undefined ? undefined : number === at}
              class={`text-line${number === at ? " here" : ""}${number === cursor && onPick !== undefined ? " cursor" : ""}`}
              style={{ top: `${number * LINE_HEIGHT}px` }}
              onClick={() => {
                setCursor(number);
                onPick?.(number, line);
              }}
            >
              {line}
            </div>
          );
        })}
      </div>
    </div>
  );
}
