import { useEffect, useRef } from "preact/hooks";

import { docsPage } from "../api/anchors";
import { TIMELINE_KEYS } from "../widgets/timeline/keys";

const KEYS: readonly (readonly [string, readonly (readonly [string, string])[]])[] = [
  [
    "Everywhere",
    [
      ["Ctrl + K", "find a page, op, step, track, run or command by name"],
      ["1 … 9", "go to a page; on the timeline: what a drag does"],
      ["?", "this help"],
      ["Esc, or Back", "close, deselect"],
      ["Tab to a dotted word", "its definition and unit"],
    ],
  ],
  [
    "Scope",
    [
      ["steps, hosts, …", "open the list; type to narrow, ↑ ↓ and Enter to pick"],
      ["window", "1.5ms..20ms, in ps, ns, us, ms or s"],
      ["Steady state", "no warm-up, cut steps or outliers"],
      ["a row's details", "only this step, device, host or program"],
    ],
  ],
  [
    "Parts of time, roofline",
    [
      ["← → ↑ ↓", "walk the parts; the points"],
      ["Enter", "open a part, pick an op"],
      ["Esc", "one level out; deselect"],
    ],
  ],
  ["Timeline", TIMELINE_KEYS],
  [
    "Critical path",
    [
      ["← →, Home, End", "follow the path"],
      ["Enter", "show the stretch on the timeline"],
    ],
  ],
  [
    "Memory",
    [
      ["← →, Home, End", "move along the schedule"],
      ["P", "go to the peak"],
      ["+ and -, or wheel", "zoom"],
      ["A, D or drag", "earlier, later"],
    ],
  ],
  [
    "Graph",
    [
      ["← → ↑ ↓", "go to the next node that way"],
      ["Enter or double click", "draw around the node"],
      ["Space or its sign", "unfold, fold"],
      ["+ and -, or wheel", "zoom"],
      ["Shift + arrows, or drag", "move the drawing"],
      ["F", "show all"],
    ],
  ],
  [
    "Tables",
    [
      ["↑ ↓ PgUp PgDn Home End", "move"],
      ["Enter", "details of the row"],
      ["header", "sort; again to reverse, again to undo"],
      ["filter", "rows with every word; -word excludes"],
    ],
  ],
];

export function Help({ onClose }: { readonly onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const title = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    dialog.current?.showModal();
    // The browser would go to the first link, which stands at the end.
    title.current?.focus();
  }, []);
  return (
    <dialog
      class="help"
      ref={dialog}
      onClose={onClose}
      aria-labelledby="help-title"
      onClick={(event) => event.target === dialog.current && dialog.current?.close()}
    >
      <div class="help-body">
        <header class="help-head">
          <h2 id="help-title" ref={title} tabIndex={-1}>
            Keys and words
          </h2>
          <button type="button" class="primary" onClick={() => dialog.current?.close()}>
            Close
          </button>
        </header>
        {KEYS.map(([where, keys]) => (
          <section>
            <h3>{where}</h3>
            <dl>
              {keys.map(([key, what]) => (
                <div>
                  <dt>{key}</dt>
                  <dd>{what}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
        <p>
          A number is <b>measured</b> (read from the profile), <b>derived</b> (computed from measured numbers) or <b>estimated</b> (from a
          model). What was not recorded is called unknown, never zero. The scope bar applies to every page; the address bar holds the whole
          state and can be shared. The <a href={docsPage("glossary")}>glossary</a> has the words.
        </p>
        <p>
          <a href="/licences.txt">Licences</a> of what this page contains.
        </p>
      </div>
    </dialog>
  );
}
