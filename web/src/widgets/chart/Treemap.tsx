/** Parts of a whole as tiles. Each is a button: the eye sees areas, the keyboard and the ear a list. */

import { useMemo } from "preact/hooks";

import { formatShare } from "../../base/format";
import { useSize } from "../useSize";
import type { Part } from "./treemap";
import { squarify, withRest } from "./treemap";

export interface TreemapProps {
  readonly label: string;
  readonly parts: readonly Part[];
  readonly format: (value: number) => string;
  readonly selected: string | null;
  readonly onSelect: (name: string | null) => void;
}

const COLOURS = 10;
const MOST = 60;
const SMALLEST = 0.002;

export function Treemap({ label, parts, format, selected, onSelect }: TreemapProps) {
  const [ref, { width, height }] = useSize<HTMLDivElement>();
  const shown = useMemo(() => withRest(parts, MOST, SMALLEST), [parts]);
  const total = shown.reduce((sum, part) => sum + part.value, 0);
  const tiles = useMemo(() => squarify(shown, (part) => part.value, { x: 0, y: 0, width, height }), [shown, width, height]);
  return (
    <div class="treemap" ref={ref} role="group" aria-label={label}>
      {tiles.map(({ item, x, y, width: wide, height: high }, i) => {
        const said = `${item.name}, ${format(item.value)}, ${formatShare(item.value / total)}`;
        const place = { left: `${x}px`, top: `${y}px`, width: `${Math.max(1, wide - 1)}px`, height: `${Math.max(1, high - 1)}px` };
        const words = wide > 34 && high > 18;
        // Without room for words a tile still says them to those who listen.
        const content = (
          <>
            <span class={words ? "tile-name" : "visually-hidden"}>{item.name}</span>
            <span class={words && high > 34 ? "tile-value" : "visually-hidden"}>{format(item.value)}</span>
            <span class="visually-hidden">{formatShare(item.value / total)}</span>
          </>
        );
        if (item.rest !== undefined)
          return (
            <span key="rest" class="tile rest" style={place} data-tip={said}>
              {content}
            </span>
          );
        return (
          <button
            key={item.name}
            type="button"
            class="tile"
            data-tip={said}
            aria-pressed={item.name === selected}
            style={{ ...place, backgroundColor: `var(--slice-${i % COLOURS})` }}
            onClick={() => onSelect(item.name === selected ? null : item.name)}
          >
            {content}
          </button>
        );
      })}
    </div>
  );
}
