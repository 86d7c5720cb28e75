import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";

import type { Column } from "../api/types";
import { HowLink } from "./Explained";
import { PictureExport } from "./Export";

export interface PanelProps {
  readonly title: string;
  readonly note?: string;
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
  /** The content reaches the panel's edges (tables, canvases). */
  readonly flush?: boolean;
  readonly class?: string;
  /** The number that a chart shows: the title leads to its formula. */
  readonly of?: Column | undefined;
  /** For panels that hold a chart: the name of its picture as a file. The panel then offers it as SVG and PNG. */
  readonly picture?: string | undefined;
}

/** One box of a page. */
export function Panel({ title, note, actions, children, flush = false, class: extra = "", picture, of }: PanelProps) {
  const body = useRef<HTMLDivElement>(null);
  return (
    <section class={`panel ${extra}`} aria-label={title}>
      <header class="panel-head">
        <h2>{title}</h2>
        {of !== undefined && <HowLink column={of} />}
        {note !== undefined && note !== "" && <span class="panel-note">{note}</span>}
        <div class="panel-actions">
          {actions}
          {picture !== undefined && <PictureExport of={body} title={title} name={picture} />}
        </div>
      </header>
      <div class={flush ? "panel-body flush" : "panel-body"} ref={body}>
        {children}
      </div>
    </section>
  );
}
