/** Horizontal bars in plain elements: they wrap, they are read aloud, they need no measuring. */

import { useEffect, useRef } from "preact/hooks";

import { Legend } from "./Legend";

export interface BarPart {
  readonly name: string;
  readonly value: number;
  readonly text: string;
  readonly colour: string;
}

export interface BarRow {
  readonly name: string;
  /** What a pick gives, where it is not the name. */
  readonly key?: string;
  /** Said after the name, in small. */
  readonly note?: string;
  readonly title?: string;
  readonly parts: readonly BarPart[];
  /** Shown at the end of the row. */
  readonly text: string;
}

export interface BarsProps {
  readonly rows: readonly BarRow[];
  /** The value of a bar that fills its track. */
  readonly full: number;
  readonly legend?: boolean;
  readonly onPick?: (key: string) => void;
  /** The name of the row that a finding rests on. */
  readonly marked?: string;
}

export function Bars({ rows, full, legend = false, onPick, marked = "" }: BarsProps) {
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => {
    if (marked !== "") list.current?.querySelector(".marked")?.scrollIntoView({ block: "center" });
  }, [marked]);
  const parts = new Map(rows.flatMap((row) => row.parts.map((part) => [part.name, part.colour] as const)));
  return (
    <div>
      {legend && <Legend items={[...parts].map(([name, colour]) => ({ name, colour }))} />}
      <ul class="hbars" ref={list}>
        {rows.map((row) => (
          <li
            class={marked !== "" && row.name === marked ? "marked" : undefined}
            data-tip={row.title ?? row.parts.map((part) => `${part.name} ${part.text}`).join("\n")}
          >
            {onPick === undefined ? (
              <span class="hbar-name">{row.name}</span>
            ) : (
              <button type="button" class="hbar-name link" onClick={() => onPick(row.key ?? row.name)}>
                {row.name}
                {row.note !== undefined && <span class="hbar-note">{row.note}</span>}
              </button>
            )}
            <span class="hbar-track" aria-hidden="true">
              {row.parts.map((part) => (
                <span class="hbar" style={{ width: `${full > 0 ? (part.value / full) * 100 : 0}%`, backgroundColor: part.colour }} />
              ))}
            </span>
            <span class="hbar-text">{row.text}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}
