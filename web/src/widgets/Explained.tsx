/** A word with its definition, for the pointer and for the keyboard, and the way to the formula of the number that it names. */

import type { ComponentChildren } from "preact";

import { anchorOf, glossary } from "../api/anchors";
import type { Column, Value } from "../api/types";
import { explain } from "../base/units";

export interface ExplainedProps {
  readonly doc?: string | undefined;
  readonly unit?: string | undefined;
  /** As in exports and scripts. */
  readonly id?: string | undefined;
  /** The number of a report that it names. */
  readonly of?: Column | Value | undefined;
  /** A word of the glossary, where it names no number. */
  readonly term?: string | undefined;
  readonly class?: string;
  readonly children: ComponentChildren;
}

export function Explained({ doc, unit, id, of, term, class: extra = "", children }: ExplainedProps) {
  const text = explain(doc, unit, id);
  const href = anchorOf(of) ?? (term === undefined ? null : glossary(term));
  const classes = `term ${extra}`.trim();
  if (href !== null)
    return (
      <a class={classes} href={href} data-tip={text === "" ? undefined : text}>
        {children}
      </a>
    );
  if (text === "") return <span class={extra}>{children}</span>;
  return (
    <span class={classes} tabIndex={0} data-tip={text}>
      {children}
    </span>
  );
}

/** A sign in a column's head that leads to its formula: the head itself sorts. */
export function HowLink({ column }: { readonly column: Column }) {
  const href = anchorOf(column);
  return href === null ? null : <a class="how" href={href} tabIndex={-1} aria-label={`How ${column.label} is computed`} />;
}
