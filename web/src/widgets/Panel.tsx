import type { ComponentChildren } from "preact";

export interface PanelProps {
  readonly title: string;
  readonly note?: string;
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
  /** The content reaches the panel's edges (tables, canvases). */
  readonly flush?: boolean;
  readonly class?: string;
}

/** One box of a page. */
export function Panel({ title, note, actions, children, flush = false, class: extra = "" }: PanelProps) {
  return (
    <section class={`panel ${extra}`} aria-label={title}>
      <header class="panel-head">
        <h2>{title}</h2>
        {note !== undefined && note !== "" && <span class="panel-note">{note}</span>}
        <div class="panel-actions">{actions}</div>
      </header>
      <div class={flush ? "panel-body flush" : "panel-body"}>{children}</div>
    </section>
  );
}
