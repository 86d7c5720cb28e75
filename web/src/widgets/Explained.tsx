/** A word with its definition, for the pointer and for the keyboard. */

import type { ComponentChildren } from "preact";

import { explain } from "../base/units";

export interface ExplainedProps {
  readonly doc?: string | undefined;
  readonly unit?: string | undefined;
  /** As in exports and scripts. */
  readonly id?: string | undefined;
  readonly class?: string;
  readonly children: ComponentChildren;
}

export function Explained({ doc, unit, id, class: extra = "", children }: ExplainedProps) {
  const text = explain(doc, unit, id);
  if (text === "") return <span class={extra}>{children}</span>;
  return (
    <span class={`term ${extra}`.trim()} tabIndex={0} data-tip={text}>
      {children}
    </span>
  );
}
