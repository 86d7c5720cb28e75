/** A page whose code is loaded when somebody goes there. */

import type { ComponentChildren, ComponentType } from "preact";
import { Component } from "preact";
import { useEffect, useState } from "preact/hooks";

import type { PageEntry, PageLoader, PageProps } from "../tools/pages";
import { Loading } from "../widgets/States";
import { Words } from "../widgets/Words";

/** Pages that have come, by their loader: going back to one draws it at once. */
const loaded = new Map<PageLoader, ComponentType<PageProps>>();

export function LazyPage({ entry }: { readonly entry: PageEntry }) {
  const load = entry.page;
  const [, setCame] = useState(0);
  const [failed, setFailed] = useState<unknown>(null);
  useEffect(() => {
    if (loaded.has(load)) return undefined;
    let gone = false;
    load()
      .then((page) => {
        loaded.set(load, page);
        if (!gone) setCame((count) => count + 1);
      })
      .catch((cause: unknown) => {
        if (!gone) setFailed(cause);
      });
    return () => {
      gone = true;
    };
  }, [load]);

  const Page = loaded.get(load);
  if (Page !== undefined)
    return (
      <Boundary>
        <Page info={entry.info} title={entry.title} />
      </Boundary>
    );
  if (failed !== null)
    return (
      <Broken title={`The page “${entry.title}” did not load`} cause={failed}>
        Its file could not be loaded. If `haloscope serve` was stopped, start it again; if it was replaced by another version, reload this
        page.
      </Broken>
    );
  return <Loading what={`the page “${entry.title}”`} />;
}

/** Keeps a fault of one page from taking the menu along. */
class Boundary extends Component<{ readonly children: ComponentChildren }, { readonly fault: unknown }> {
  override state = { fault: null };

  static override getDerivedStateFromError(fault: unknown) {
    return { fault };
  }

  override render() {
    if (this.state.fault === null) return this.props.children;
    return (
      <Broken title="This page has failed" cause={this.state.fault}>
        The other pages still work. Please report the text below and what you did before.
      </Broken>
    );
  }
}

function Broken({ title, cause, children }: { readonly title: string; readonly cause: unknown; readonly children: string }) {
  return (
    <div class="notice error" role="alert">
      <p class="notice-title">{title}</p>
      <p>
        <Words text={children} />
      </p>
      <p class="sub">{cause instanceof Error ? cause.message : String(cause)}</p>
      <button type="button" onClick={() => location.reload()}>
        Reload the page
      </button>
    </div>
  );
}
