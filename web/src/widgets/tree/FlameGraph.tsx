/** A tree as a flame graph: a row a level, width by size. One stop for the keyboard; arrows move, Enter selects. */

import { useMemo, useState } from "preact/hooks";

import { hashName, stem } from "../../base/colour";
import { useSize } from "../useSize";
import type { FlatNode } from "./flat";
import { flame, neighbour } from "./flame";

const ROW = 24;
const COLOURS = 10;
/** A box narrower than this has no room for words. */
const WORDS = 36;

export interface FlameGraphProps {
  readonly label: string;
  readonly all: readonly FlatNode[];
  /** The node that fills the width. */
  readonly top: number;
  /** The column that gives the width. */
  readonly size: number;
  readonly selected: number | null;
  readonly onSelect: (index: number | null) => void;
  /** What is said of a node beside its name. */
  readonly say: (node: FlatNode) => string;
}

export function FlameGraph({ label, all, top, size, selected, onSelect, say }: FlameGraphProps) {
  const [ref, { width }] = useSize<HTMLDivElement>();
  const [cursor, setCursor] = useState(top);
  const boxes = useMemo(() => flame(all, top, size, width), [all, top, size, width]);
  const rows = boxes.reduce((most, box) => Math.max(most, box.row + 1), 1);
  const at = boxes.some((box) => box.index === cursor) ? cursor : top;
  const onKeyDown = (event: KeyboardEvent): void => {
    if (/^Arrow/.test(event.key)) setCursor(neighbour(boxes, at, event.key));
    else if (event.key === "Enter" || event.key === " ") onSelect(at === selected ? null : at);
    else if (event.key === "Escape") onSelect(null);
    else return;
    event.preventDefault();
  };
  return (
    <div
      class="flame"
      ref={ref}
      role="tree"
      tabIndex={0}
      aria-label={label}
      aria-activedescendant={boxes.length > 0 ? `flame-${at}` : undefined}
      style={{ height: `${rows * ROW}px` }}
      onKeyDown={onKeyDown}
    >
      {boxes.map((box) => {
        const one = all[box.index];
        if (one === undefined) return null;
        const said = `${one.node.label}, ${say(one)}`;
        const idle = one.node.label === "idle" && one.depth === 1;
        return (
          <div
            key={box.index}
            id={`flame-${box.index}`}
            role="treeitem"
            aria-level={box.row + 1}
            aria-label={said}
            aria-selected={box.index === selected}
            title={`${one.path}\n${say(one)}`}
            class={`flame-box${box.index === at ? " cursor" : ""}`}
            style={{
              left: `${box.x}px`,
              top: `${box.row * ROW}px`,
              width: `${Math.max(1, box.width - 1)}px`,
              backgroundColor: idle ? "var(--idle-0)" : `var(--slice-${hashName(stem(one.node.label)) % COLOURS})`,
            }}
            onClick={() => {
              setCursor(box.index);
              onSelect(box.index === selected ? null : box.index);
            }}
          >
            {box.width > WORDS && <span>{one.node.label}</span>}
          </div>
        );
      })}
    </div>
  );
}
