/** Search by name, statistic and duration: counts, the next hit and the one before, and a list by name. */

import type { RefObject } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { getSearch } from "../../api/timeline";
import type { Hit, SearchAnswer } from "../../api/timeline";
import { formatDuration, formatInt } from "../../base/format";
import { go, view } from "../../state/route";
import type { Resource } from "../../state/resource";
import { useResource } from "../../state/resource";
import { Panel } from "../../widgets/Panel";
import { ErrorBox, Loading } from "../../widgets/States";
import type { TimelineModel } from "../../widgets/timeline/model";
import { span, viewOf } from "../../widgets/timeline/viewport";
import type { SearchForm } from "./query";
import { NO_SEARCH, complaint, exactName, isSearch, readSearch, searchParams, writeSearch } from "./query";
import { Where } from "./Toolbar";
import { pickedOfHit } from "./walk";

const TYPING_MS = 250;

export interface Search {
  readonly form: SearchForm;
  readonly answer: Resource<SearchAnswer>;
  readonly complaint: string | null;
  readonly change: (change: Partial<SearchForm>) => void;
  readonly next: (direction: 1 | -1) => void;
  readonly show: (hit: Hit) => void;
  /** Where the hit that was gone to stands among all, from 0; null where that is not known. */
  readonly at: number | null;
  /** Said where the search went round the end, or found nothing that way. */
  readonly word: string;
}

export function useSearch(run: string, model: TimelineModel): Search {
  const [form, setForm] = useState<SearchForm>(() => readSearch(view.value));
  const [asked, setAsked] = useState(form);
  const [word, setWord] = useState("");
  const [at, setAt] = useState<number | null>(null);
  const walking = useRef<AbortController | null>(null);
  const wrong = complaint(form);
  useEffect(() => {
    if (wrong !== null) return undefined;
    const timer = setTimeout(() => {
      setAsked(form);
      go({ view: writeSearch(form) }, "replace");
    }, TYPING_MS);
    return () => clearTimeout(timer);
  }, [form]);
  const query = useMemo(() => (isSearch(asked) ? new URLSearchParams(searchParams(asked)).toString() : ""), [asked]);
  const answer = useResource<SearchAnswer>(query === "" ? null : `search ${run} ${query}`, `search ${run}`, (signal) =>
    getSearch(run, searchParams(asked), signal),
  );
  useEffect(() => {
    model.searching.value = query;
    model.hit.value = null;
    setWord("");
    setAt(null);
  }, [query, model]);

  const show = (hit: Hit): void => {
    model.hit.value = hit;
    model.selected.value = pickedOfHit(hit);
    // A hit that would be a hair is zoomed to; one that can be seen is only brought into view.
    const wide = (hit.duration_ps / span(model.view.value)) * model.width;
    if (wide < 4 && hit.duration_ps > 0) {
      const air = hit.duration_ps * 12;
      model.look(viewOf(model.limits.value, hit.start_ps - air, hit.start_ps + hit.duration_ps + air));
    } else model.reveal(hit.start_ps, hit.duration_ps);
  };
  const next = (direction: 1 | -1): void => {
    if (query === "") return;
    walking.current?.abort();
    const abort = new AbortController();
    walking.current = abort;
    const from = model.hit.value;
    const { start, end } = model.view.value;
    const time = Math.max(0, Math.floor(direction === 1 ? start : end));
    const place = from === null ? `${time},0,0` : `${from.start_ps},${from.track},${from.event}`;
    const seek = (params: [string, string][]) => getSearch(run, [...searchParams(asked), ["limit", "1"], ...params], abort.signal);
    seek([[direction === 1 ? "after" : "before", place]])
      .then(async (got) => {
        const [hit] = got.hits;
        if (hit !== undefined) return { hit, word: "", at: got.position ?? null };
        const round = direction === 1 ? await seek([]) : await seek([["before", `${Number.MAX_SAFE_INTEGER},0,0`]]);
        return { hit: round.hits[0], word: direction === 1 ? "from the start again" : "from the end again", at: round.position ?? null };
      })
      .then((found) => {
        if (abort.signal.aborted) return;
        setWord(found.hit === undefined ? "no hit" : found.word);
        setAt(found.at);
        if (found.hit !== undefined) show(found.hit);
      })
      .catch((error: unknown) => {
        if (!abort.signal.aborted) setWord(error instanceof Error ? error.message : String(error));
      });
  };
  return { form, answer, complaint: wrong, change: (part) => setForm({ ...form, ...part }), next, show, at, word };
}

export interface SearchBarProps {
  readonly model: TimelineModel;
  readonly search: Search;
  readonly field: RefObject<HTMLInputElement | null>;
  /** Whether the hits are listed by name, beside the canvas. */
  readonly named: boolean;
  readonly onNamed: () => void;
}

export function SearchBar({ model, search, field, named, onNamed }: SearchBarProps) {
  const { form, answer, change } = search;
  const [more, setMore] = useState(form.stat !== "" || form.min !== "" || form.max !== "");
  const active = isSearch(form);
  return (
    <>
      <form
        class="tl-search"
        role="search"
        aria-label="Search the timeline"
        onSubmit={(event) => {
          event.preventDefault();
          search.next(1);
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter" && event.shiftKey) {
            event.preventDefault();
            search.next(-1);
          } else if (event.key === "Escape") {
            if (event.target instanceof HTMLElement) event.target.blur();
            event.stopPropagation();
          }
        }}
      >
        <input
          ref={field}
          class="tl-query"
          type="search"
          placeholder="Search events ( / )"
          aria-label={
            form.regex
              ? "Search events by regular expression"
              : form.exact
                ? "Search events by their whole name"
                : "Search events by a part of their name"
          }
          value={form.text}
          spellcheck={false}
          onInput={(event) => change({ text: event.currentTarget.value })}
        />
        <label class="field check" title="Read the text as a regular expression, for example ^fusion\.\d+$">
          <input type="checkbox" checked={form.regex} onChange={(event) => change({ regex: event.currentTarget.checked, exact: false })} />
          <span>regex</span>
        </label>
        <label class="field check" title="Only events with exactly this name: fusion.12, not fusion.126">
          <input type="checkbox" checked={form.exact} onChange={(event) => change({ exact: event.currentTarget.checked, regex: false })} />
          <span>exact</span>
        </label>
        <button type="button" class="quiet" aria-expanded={more} onClick={() => setMore(!more)}>
          {more ? "fewer conditions" : "duration, statistic"}
        </button>
        {active && (
          <>
            <button type="button" onClick={() => search.next(-1)} title="Shift + N">
              Previous hit
            </button>
            <button type="submit" title="N">
              Next hit
            </button>
            <button type="button" aria-pressed={named} onClick={onNamed}>
              Hits by name
            </button>
            <button type="button" class="quiet" onClick={() => change(NO_SEARCH)}>
              Clear search
            </button>
          </>
        )}
        <span class="tl-found" role="status">
          {active && <Found model={model} search={search} />}
        </span>
        <Where model={model} />
        {more && <Conditions search={search} />}
      </form>
      {active && answer.error !== null && <ErrorBox error={answer.error} reload={answer.reload} />}
    </>
  );
}

function Found({ model, search }: { readonly model: TimelineModel; readonly search: Search }) {
  const { answer } = search;
  if (search.complaint !== null) return <span class="tl-wrong">{search.complaint}</span>;
  if (answer.error !== null) return null;
  if (answer.data === null || answer.loading) return <>searching…</>;
  const { count, total_ps: total } = answer.data;
  if (count === 0) return <>no event matches</>;
  const which = model.hit.value === null || search.at === null ? "" : `${formatInt(search.at + 1)} of `;
  return (
    <>{`${which}${formatInt(count)} ${count === 1 ? "event" : "events"}, ${formatDuration(total)} in all${search.word === "" ? "" : `, ${search.word}`}`}</>
  );
}

function Conditions({ search }: { readonly search: Search }) {
  const { form, change } = search;
  return (
    <div class="tl-conditions">
      <label class="field">
        <span>longer than</span>
        <input
          value={form.min}
          size={8}
          placeholder="10us"
          spellcheck={false}
          onInput={(event) => change({ min: event.currentTarget.value })}
        />
      </label>
      <label class="field">
        <span>shorter than</span>
        <input
          value={form.max}
          size={8}
          placeholder="2ms"
          spellcheck={false}
          onInput={(event) => change({ max: event.currentTarget.value })}
        />
      </label>
      <label class="field">
        <span>statistic</span>
        <input
          value={form.stat}
          size={20}
          placeholder="bytes_accessed>1e6"
          spellcheck={false}
          onInput={(event) => change({ stat: event.currentTarget.value })}
        />
      </label>
      <span class="tl-note">
        Durations: 250ns, 10us, 1.5ms, 2s. Statistic: <code>name</code> (has it), <code>name:text</code> (holds the text),{" "}
        <code>name&gt;number</code> or <code>name&lt;number</code>. All conditions must hold.
      </span>
    </div>
  );
}

/** The names that the hits have, those with most time first. */
export function HitsByName({ search, onClose }: { readonly search: Search; readonly onClose: () => void }) {
  const answer = search.answer.data;
  if (answer === null) return <Loading what="the hits" />;
  const { longest, by_name: names } = answer;
  const note = names.length === 0 ? "none" : `${names.length}${names.length === 50 ? ", the 50 with most time" : ""}`;
  return (
    <Panel
      title="Hits by name"
      note={note}
      flush
      actions={
        <button type="button" class="quiet" onClick={onClose} aria-label="Close the hits">
          Close
        </button>
      }
    >
      {longest !== null && (
        <p class="tl-longest">
          Longest:{" "}
          <button type="button" class="link" onClick={() => search.show(longest)}>
            {`${longest.name}, ${formatDuration(longest.duration_ps)}`}
          </button>
        </p>
      )}
      <div class="tl-names" tabIndex={0} role="group" aria-label="Hits by name">
        <table class="data plain">
          <thead>
            <tr>
              <th scope="col">name</th>
              <th scope="col" class="num">
                events
              </th>
              <th scope="col" class="num">
                time
              </th>
            </tr>
          </thead>
          <tbody>
            {names.map((one) => (
              <tr>
                <td>
                  <button type="button" class="link" title="Search only for this name" onClick={() => search.change(exactName(one.name))}>
                    {one.name}
                  </button>
                </td>
                <td class="num">{formatInt(one.count)}</td>
                <td class="num">{formatDuration(one.total_ps)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}
