/** What can be done with the view as a whole. */

import { useRef, useState } from "preact/hooks";

import type { ExportFormat } from "../../api/timeline";
import { exportUrl, getExport } from "../../api/timeline";
import { formatDuration } from "../../base/format";
import { go } from "../../state/route";
import { formatWindow } from "../../state/url";
import { ErrorBox } from "../../widgets/States";
import type { Colouring, TimelineModel } from "../../widgets/timeline/model";
import type { Viewport } from "../../widgets/timeline/viewport";
import { TOOLS } from "../../widgets/timeline/useKeys";
import { span, zoomAt } from "../../widgets/timeline/viewport";
import { openInPerfetto } from "./perfetto";

export interface ToolbarProps {
  readonly run: string;
  readonly model: TimelineModel;
  readonly scope: Viewport | null;
  readonly listed: boolean;
  readonly onList: () => void;
}

export const COLOURS: readonly (readonly [Colouring, string])[] = [
  ["category", "op category"],
  ["module", "HLO module"],
  ["class", "time class"],
  ["name", "name"],
];

export function Toolbar({ run, model, scope, listed, onList }: ToolbarProps) {
  const zoom = (factor: number): void => {
    const { start, end } = model.view.value;
    model.look(zoomAt(model.limits.value, model.view.value, factor, (start + end) / 2));
  };
  const { away } = model.layout.value;
  return (
    <div class="tl-toolbar" role="toolbar" aria-label="View of the timeline">
      <span class="tl-set">
        <button type="button" onClick={() => zoom(0.5)} aria-label="Zoom in">
          +
        </button>
        <button type="button" onClick={() => zoom(2)} aria-label="Zoom out">
          −
        </button>
        <button type="button" onClick={() => model.look(model.limits.value)} title="The whole run (0)">
          Fit
        </button>
        <button type="button" onClick={() => model.undo()} title="Undo the last zoom (Z)" aria-label="Undo zoom">
          ↶
        </button>
      </span>
      <span class="tl-set tl-tools" role="group" aria-label="A drag on the canvas">
        {TOOLS.map(([tool, label, title]) => (
          <button type="button" key={tool} aria-pressed={model.tool.value === tool} title={title} onClick={() => (model.tool.value = tool)}>
            {label}
          </button>
        ))}
      </span>
      <label class="field">
        <span>colour</span>
        <select value={model.colouring.value} onChange={(event) => model.colourBy(event.currentTarget.value as Colouring)}>
          {COLOURS.map(([id, text]) => (
            <option value={id} selected={id === model.colouring.value}>
              {text}
            </option>
          ))}
        </select>
      </label>
      <label class="field check" title="Shades where transfers and other asynchronous work run, and whether compute hides them">
        <input
          type="checkbox"
          checked={model.showOverlap.value}
          onChange={(event) => (model.showOverlap.value = event.currentTarget.checked)}
        />
        <span>overlap</span>
      </label>
      <label class="field check" title="Marks the gaps inside steps in which the device ran nothing">
        <input
          type="checkbox"
          checked={model.showBubbles.value}
          onChange={(event) => (model.showBubbles.value = event.currentTarget.checked)}
        />
        <span>bubbles</span>
      </label>
      <input
        class="filter"
        type="search"
        placeholder="Tracks: words, -not"
        aria-label="Filter tracks by name; a word with a minus excludes"
        value={model.how.value.filter}
        onInput={(event) => model.arrange({ filter: event.currentTarget.value })}
      />
      {away > 0 && (
        <button type="button" class="quiet" onClick={() => model.arrange({ filter: "", hidden: new Set() })}>
          {`${away} hidden, show all`}
        </button>
      )}
      <button type="button" aria-pressed={listed} onClick={onList} title="The events in view as a table (L)">
        List events
      </button>
      <ExportMenu run={run} model={model} />
      <ScopeButtons model={model} scope={scope} />
    </div>
  );
}

/** Where the view is, in a line whose height does not hang on how long that is to say. */
export function Where({ model }: { readonly model: TimelineModel }) {
  const { start } = model.view.value;
  return (
    <span class="tl-where">
      <span class="tl-busy" role="status">
        {model.loader.loading.value ? "loading…" : ""}
      </span>
      <span class="tl-span">{`${formatDuration(Math.max(0, start), 6)} + ${formatDuration(span(model.view.value))}`}</span>
    </span>
  );
}

function ScopeButtons({ model, scope }: { readonly model: TimelineModel; readonly scope: Viewport | null }) {
  const whole = span(model.view.value) >= span(model.bounds);
  return (
    <>
      {model.area.value === null && (
        <button
          type="button"
          class="primary"
          disabled={whole}
          title="Every other page then counts only this time window"
          onClick={() => {
            const { start, end } = model.view.value;
            go({ scope: { window: formatWindow(start, end) } });
          }}
        >
          Scope to view
        </button>
      )}
      {scope !== null && (
        <button type="button" onClick={() => go({ scope: { window: "", steps: "", steady: false } })}>
          Clear scope
        </button>
      )}
    </>
  );
}

const FORMATS: readonly (readonly [ExportFormat, string])[] = [
  ["perfetto", "Perfetto (protobuf)"],
  ["chrome", "Chrome JSON"],
  ["folded", "Folded stacks"],
  ["speedscope", "speedscope"],
];

/** The window of an export: the area where there is one, else the view. */
function chosen(model: TimelineModel): { readonly start: number; readonly end: number; readonly tracks: readonly number[] | null } {
  const area = model.area.value;
  const { start, end } = area ?? model.view.value;
  // Rows that no line of the profile has are not in a file of its lines.
  const made = new Set(
    model.tracks.groups.flatMap((group) => group.tracks.filter((track) => track.kind === "framework").map((track) => track.id)),
  );
  const tracks = area?.tracks?.filter((id) => !made.has(id)) ?? null;
  return { start: Math.max(0, Math.floor(start)), end: Math.ceil(end), tracks: tracks?.length === 0 ? null : tracks };
}

function ExportMenu({ run, model }: { readonly run: string; readonly model: TimelineModel }) {
  const details = useRef<HTMLDetailsElement>(null);
  const [open, setOpen] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const [waiting, setWaiting] = useState(false);
  // Read only while open, so that the menu does not follow every move.
  const range = open ? chosen(model) : null;
  const perfetto = (): void => {
    if (range === null) return;
    setError(null);
    setWaiting(true);
    openInPerfetto(run, () => getExport(run, "perfetto", range.start, range.end))
      .catch(setError)
      .finally(() => setWaiting(false));
  };
  return (
    <details
      class="tl-export"
      ref={details}
      onToggle={(event) => setOpen(event.currentTarget.open)}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || details.current === null) return;
        details.current.open = false;
        details.current.querySelector("summary")?.focus();
        event.stopPropagation();
      }}
    >
      <summary>Export</summary>
      {range !== null && (
        <div class="tl-export-body">
          <p>{`${model.area.value === null ? "What is in view" : "The selected area"}, ${formatDuration(range.end - range.start)}:`}</p>
          {FORMATS.map(([format, text]) => (
            <a href={exportUrl(run, format, range.start, range.end, range.tracks)} download>
              {text}
            </a>
          ))}
          <button type="button" onClick={perfetto} disabled={waiting}>
            {waiting ? "Sending…" : "Open in Perfetto"}
          </button>
          <p class="sub">
            Opens ui.perfetto.dev in a new window and passes it the trace. It needs the internet; nothing is sent before you click.
          </p>
          {error !== null && <ErrorBox error={error} />}
        </div>
      )}
    </details>
  );
}
