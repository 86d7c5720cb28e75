/** Several of a list: type to narrow it, arrows and Enter or clicks to pick. */

import { useId, useMemo, useState } from "preact/hooks";

import { formatInt } from "../base/format";

export interface PickItem {
  readonly value: string;
  /** Said after the value, in small. */
  readonly note?: string;
}

export interface PickerProps {
  readonly label: string;
  readonly items: readonly PickItem[];
  readonly chosen: readonly string[];
  readonly onChange: (next: readonly string[]) => void;
  /** What a text that names no item stands for, in words; null where it stands for nothing. */
  readonly free?: (text: string) => string | null;
  readonly onFree?: (text: string) => void;
  readonly placeholder: string;
  /** Said where there are no items. */
  readonly empty: string;
}

/** The types know comboboxes only with a list of their own. */
const COMBOBOX: object = { role: "combobox" };

/** Drawn at once; the rest is reached by typing. */
const MOST = 200;

export function Picker(props: PickerProps) {
  const { items, chosen } = props;
  const id = useId();
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const found = useMemo(
    () => items.filter((item) => words.every((word) => `${item.value} ${item.note ?? ""}`.toLowerCase().includes(word))),
    [items, text],
  );
  const shown = found.slice(0, MOST);
  const free = text.trim() === "" ? null : (props.free?.(text.trim()) ?? null);
  const rows = (free === null ? 0 : 1) + shown.length;
  const current = Math.min(at, Math.max(0, rows - 1));
  const toggle = (value: string): void =>
    props.onChange(chosen.includes(value) ? chosen.filter((one) => one !== value) : [...chosen, value]);
  const pick = (row: number): void => {
    const item = shown[row - (free === null ? 0 : 1)];
    if (free !== null && row === 0) props.onFree?.(text.trim());
    else if (item !== undefined) toggle(item.value);
  };
  const rowId = (row: number): string => `${id}-${row}`;
  const move = (row: number): void => {
    const next = Math.max(0, Math.min(rows - 1, row));
    setAt(next);
    document.getElementById(rowId(next))?.scrollIntoView({ block: "nearest" });
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const jumps: Record<string, number> = { ArrowDown: current + 1, ArrowUp: current - 1, PageDown: current + 8, PageUp: current - 8 };
    const jump = jumps[event.key];
    if (jump !== undefined) move(jump);
    else if (event.key === "Enter") pick(current);
    else return;
    event.preventDefault();
  };
  return (
    <div class="picker">
      <input
        type="search"
        {...COMBOBOX}
        aria-label={`${props.label}: type to narrow the list`}
        aria-expanded="true"
        aria-controls={`${id}-list`}
        aria-activedescendant={rows > 0 ? rowId(current) : undefined}
        aria-autocomplete="list"
        placeholder={props.placeholder}
        autocomplete="off"
        spellcheck={false}
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={onKeyDown}
      />
      <ul
        // The focus stays in the field, so that the keyboard goes on.
        onMouseDown={(event) => event.preventDefault()}
        id={`${id}-list`}
        role="listbox"
        aria-label={props.label}
        aria-multiselectable="true"
        class="picker-list"
      >
        {free !== null && (
          <li id={rowId(0)} role="option" aria-selected="false" class={current === 0 ? "cursor" : ""} onClick={() => pick(0)}>
            {free}
          </li>
        )}
        {shown.map((item, i) => {
          const row = i + (free === null ? 0 : 1);
          return (
            <li
              key={item.value}
              id={rowId(row)}
              role="option"
              aria-selected={chosen.includes(item.value)}
              class={row === current ? "cursor" : ""}
              onClick={() => {
                setAt(row);
                toggle(item.value);
              }}
            >
              <span class="picker-mark" aria-hidden="true">
                {chosen.includes(item.value) ? "✓" : ""}
              </span>
              <span class="picker-value">{item.value}</span>
              {item.note !== undefined && <span class="picker-note">{item.note}</span>}
            </li>
          );
        })}
      </ul>
      <p class="picker-foot" role="status">
        {items.length === 0
          ? props.empty
          : found.length === 0 && free === null
            ? "None of them matches"
            : found.length > MOST
              ? `${formatInt(found.length - MOST)} more: type to narrow`
              : `${formatInt(chosen.length)} of ${formatInt(items.length)} picked`}
      </p>
    </div>
  );
}
