/** A tree of times as rows of boxes. One tab stop: arrows walk, Enter goes into a part or picks a leaf, Escape comes out. */

import { useMemo, useRef, useState } from "preact/hooks";

import { formatShare } from "../../base/format";
import { useSize } from "../useSize";
import type { Branch, IcicleBox } from "./icicle";
import { boxes, branchAt, neighbour } from "./icicle";

export interface IcicleProps {
  readonly label: string;
  readonly tree: Branch;
  readonly format: (value: number) => string;
  /** A colour per box, by whatever the page finds telling. */
  readonly colourOf: (branch: Branch) => string;
  /** The part that fills the width. */
  readonly focus: readonly string[];
  readonly onFocus: (path: readonly string[]) => void;
  readonly selected: number | null;
  readonly onSelect: (leaf: number) => void;
}

const ROW = 24;
const SMALLEST = 3;
const WORDS = 40;

export function Icicle(props: IcicleProps) {
  const { tree } = props;
  const [ref, { width }] = useSize<HTMLDivElement>();
  const [cursor, setCursor] = useState(0);
  const holder = useRef<HTMLDivElement>(null);
  const top = useMemo(() => branchAt(tree, props.focus), [tree, props.focus.join("\n")]);
  const all = useMemo(() => boxes(top, width, SMALLEST), [top, width]);
  const levels = all.reduce((most, box) => Math.max(most, box.level), 0) + 1;
  const at = Math.min(cursor, Math.max(0, all.length - 1));

  const activate = (box: IcicleBox, index: number): void => {
    setCursor(index);
    if (box.rest > 0) return;
    if (box.branch.leaf !== null) props.onSelect(box.branch.leaf);
    else if (box.branch === top) props.onFocus(top.path.slice(0, -1));
    else {
      setCursor(0);
      props.onFocus(box.branch.path);
    }
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const next = neighbour(all, at, event.key);
    if (event.key === "Escape" && top.path.length > 0) props.onFocus(top.path.slice(0, -1));
    else if (event.key.startsWith("Arrow")) {
      if (next >= 0) {
        setCursor(next);
        holder.current?.querySelector<HTMLElement>(`[data-box="${next}"]`)?.focus();
      }
    } else return;
    event.preventDefault();
  };
  return (
    <div ref={ref}>
      <div
        class="icicle"
        ref={holder}
        role="group"
        aria-label={`${props.label}: arrows walk, Enter opens a part`}
        style={{ height: `${levels * ROW}px` }}
        onKeyDown={onKeyDown}
      >
        {all.map((box, i) => {
          const said = `${box.branch.name}\n${props.format(box.branch.value)}, ${formatShare(box.branch.value / tree.value)} of all${
            top === tree ? "" : `, ${formatShare(box.branch.value / top.value)} of ${top.name}`
          }`;
          return (
            <button
              key={box.branch.path.join("\n")}
              type="button"
              data-box={i}
              data-tip={said}
              tabIndex={i === at ? 0 : -1}
              class={`icicle-box${box.rest > 0 ? " rest" : ""}${box.branch.leaf !== null && box.branch.leaf === props.selected ? " selected" : ""}`}
              aria-pressed={box.branch.leaf === null ? undefined : box.branch.leaf === props.selected}
              aria-label={said.replace("\n", ", ")}
              style={{
                left: `${box.left}px`,
                top: `${box.level * ROW}px`,
                width: `${Math.max(1, box.width - 1)}px`,
                backgroundColor: box.rest > 0 || box.level + top.path.length === 0 ? undefined : props.colourOf(box.branch),
              }}
              onClick={() => activate(box, i)}
              onFocus={() => setCursor(i)}
            >
              {box.width > WORDS ? `${box.branch === top && top !== tree ? "↑ " : ""}${box.branch.name}` : ""}
            </button>
          );
        })}
      </div>
    </div>
  );
}
