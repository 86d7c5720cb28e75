/** What happened in an area: totals by op, by category and by track. */

import { useEffect, useState } from "preact/hooks";

import { getTotals } from "../../api/timeline";
import type { Totals } from "../../api/timeline";
import type { Table } from "../../api/types";
import { formatDuration, formatInt, formatShare } from "../../base/format";
import { toCsv } from "../../base/csv";
import { useResource } from "../../state/resource";
import { Panel } from "../../widgets/Panel";
import { ErrorBox, Loading } from "../../widgets/States";
import { DataTable } from "../../widgets/table/DataTable";
import { downloadCsv } from "../../widgets/table/download";
import { Tabs } from "../../widgets/Tabs";
import type { TimelineModel } from "../../widgets/timeline/model";
import type { Area } from "../../widgets/timeline/scene";
import { viewOf } from "../../widgets/timeline/viewport";
import { EventsPart } from "./EventsPart";
import { exactName } from "./query";
import type { Search } from "./SearchBar";
import { StacksPart } from "./StacksPart";
import { categoryTable, mainTracks, opTable, trackTable } from "./totals";

export interface AreaPanelProps {
  readonly run: string;
  readonly model: TimelineModel;
  readonly search: Search;
  readonly onScope: (start: number, end: number) => void;
}

const REST_MS = 150;
const TABS = [
  { id: "op", label: "By op" },
  { id: "category", label: "By category" },
  { id: "track", label: "By track" },
  { id: "stacks", label: "Flame graph" },
  { id: "events", label: "Event list" },
];

/** The area once the hand rests. */
function useRested(area: Area | null): Area | null {
  const [rested, setRested] = useState(area);
  useEffect(() => {
    const timer = setTimeout(() => setRested(area), area === null ? 0 : REST_MS);
    return () => clearTimeout(timer);
  }, [area]);
  return area === null ? null : rested;
}

export function AreaPanel({ run, model, search, onScope }: AreaPanelProps) {
  const area = useRested(model.area.value);
  const [tab, setTab] = useState("op");
  const tracks = area === null ? [] : (area.tracks ?? mainTracks(model.tracks.groups)).filter((id) => !isCounter(model, id));
  const key = area === null || tracks.length === 0 ? null : `totals ${run} ${area.start} ${area.end} ${tracks.join(",")}`;
  const totals = useResource<Totals>(key, `totals ${run}`, (signal) => getTotals(run, area?.start ?? 0, area?.end ?? 0, tracks, signal));
  if (area === null) return null;
  const close = (): void => {
    model.area.value = null;
    model.step.value = null;
  };
  const scopeTo = (): void => {
    close();
    onScope(area.start, area.end);
  };
  return (
    <Panel
      title={`${formatDuration(area.start, 7)} + ${formatDuration(area.end - area.start, 6)}`}
      class="tl-area"
      flush
      actions={
        <>
          <button type="button" class="quiet" onClick={() => model.look(viewOf(model.limits.value, area.start, area.end))}>
            Zoom to selection
          </button>
          <button type="button" class="primary" onClick={scopeTo} title="Every other page then counts only this time window">
            Scope to selection
          </button>
          <button type="button" class="quiet" onClick={close} aria-label="Close the area">
            Close
          </button>
        </>
      }
    >
      <AreaForm model={model} area={area} count={tracks.length} />
      {tracks.length === 0 && <p class="table-empty">No track with events is in the area.</p>}
      {totals.error !== null && <ErrorBox error={totals.error} reload={totals.reload} />}
      {totals.error === null && totals.data === null && key !== null && <Loading what="the totals" />}
      {totals.error === null && totals.data !== null && (
        <div class={totals.loading ? "loaded stale" : "loaded"} aria-busy={totals.loading}>
          <AreaTotals {...{ model, area, tracks, tab, search, run }} totals={totals.data} onTab={setTab} />
        </div>
      )}
    </Panel>
  );
}

function isCounter(model: TimelineModel, id: number): boolean {
  return model.tracks.groups.some((group) => group.tracks.some((track) => track.id === id && track.counter === true));
}

/** The area in numbers, to be set without a mouse. */
function AreaForm({ model, area, count }: { readonly model: TimelineModel; readonly area: Area; readonly count: number }) {
  const set = (text: string, end: boolean): void => {
    const value = Math.round(Number(text) * 1e6);
    if (!Number.isFinite(value) || text.trim() === "") return;
    const next = end ? { ...area, end: value } : { ...area, start: value };
    if (next.end > next.start) model.area.value = next;
  };
  const main = area.tracks === null;
  return (
    <div class="tl-area-form">
      <label class="field">
        <span>from</span>
        <input value={String(area.start / 1e6)} size={14} inputMode="decimal" onChange={(event) => set(event.currentTarget.value, false)} />
      </label>
      <label class="field">
        <span>to</span>
        <input value={String(area.end / 1e6)} size={14} inputMode="decimal" onChange={(event) => set(event.currentTarget.value, true)} />
        <span>µs</span>
      </label>
      <span class="tl-note">{`${formatInt(count)} ${count === 1 ? "track" : "tracks"}${main ? ": what the devices ran" : ""}`}</span>
      {!main && (
        <button type="button" class="quiet" onClick={() => (model.area.value = { ...area, tracks: null })}>
          Use the ops of all devices
        </button>
      )}
    </div>
  );
}

interface AreaTotalsProps {
  readonly run: string;
  readonly model: TimelineModel;
  readonly area: Area;
  readonly tracks: readonly number[];
  readonly totals: Totals;
  readonly tab: string;
  readonly onTab: (tab: string) => void;
  readonly search: Search;
}

function AreaTotals({ run, model, area, tracks, totals, tab, onTab, search }: AreaTotalsProps) {
  const [name, setName] = useState("");
  const [copied, setCopied] = useState("");
  const table: Table =
    tab === "category" ? categoryTable(totals) : tab === "track" ? trackTable(totals, model.tracks.groups) : opTable(totals);
  const copy = (): void => {
    const text = toCsv(
      table.columns.map((column) => column.id),
      table.rows,
    );
    navigator.clipboard.writeText(text).then(
      () => setCopied("copied"),
      () => setCopied("the browser refused; use CSV"),
    );
    setTimeout(() => setCopied(""), 3000);
  };
  const isTable = tab !== "stacks" && tab !== "events";
  const self = totals.by_category.reduce((sum, one) => sum + one.self_ps, 0);
  const row = table.rows.findIndex((one) => search.form.exact && String(one[0]) === search.form.text);
  return (
    <>
      <dl class="tl-sums">
        <Sum id="events" name="events" text={formatInt(totals.events)} />
        <Sum id="self" name="self time of ops" text={formatDuration(self, 6)} exact={self} />
        <Sum id="union" name="busy (union of the tracks)" text={formatDuration(totals.union_ps, 6)} exact={totals.union_ps} />
        <Sum id="share" name="busy share" text={totals.span_ps > 0 ? formatShare(totals.union_ps / totals.span_ps) : "unknown"} />
      </dl>
      <div class="tl-area-tabs">
        <Tabs label="Totals" tabs={TABS} selected={tab} onSelect={onTab} />
        {isTable && (
          <>
            <button type="button" class="quiet" onClick={copy}>
              Copy as CSV
            </button>
            <button type="button" class="quiet" onClick={() => downloadCsv(table, `${run}-${table.id}`)}>
              CSV
            </button>
          </>
        )}
        <span role="status" class="tl-note">
          {copied}
        </span>
      </div>
      {tab === "stacks" && (
        <StacksPart {...{ run, area, tracks, name }} onName={setName} onFind={(found) => search.change(exactName(found))} />
      )}
      {tab === "events" && <EventsPart {...{ run, model, area, tracks }} />}
      {isTable && (
        <DataTable
          key={table.id}
          table={table}
          selected={tab === "op" && row >= 0 ? row : null}
          {...(tab === "op"
            ? {
                onSelect: (next: number | null) =>
                  search.change(next === null ? { text: "", regex: false, exact: false } : exactName(String(table.rows[next]?.[0] ?? ""))),
              }
            : {})}
        />
      )}
    </>
  );
}

function Sum({ id, name, text, exact }: { readonly id: string; readonly name: string; readonly text: string; readonly exact?: number }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd data-sum={id} data-exact={exact} title={exact === undefined ? undefined : `${exact} ps`}>
        {text}
      </dd>
    </div>
  );
}
