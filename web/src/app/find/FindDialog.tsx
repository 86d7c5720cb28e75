/** Everything that one can go to or do, by a few letters of its name. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { columnIndex, numberAt, tableOf, textAt } from "../../api/read";
import type { Steps, Tracks } from "../../api/timeline";
import { getSteps, getTracks } from "../../api/timeline";
import type { Report } from "../../api/types";
import { formatDuration } from "../../base/format";
import { commands } from "../../state/commands";
import { go } from "../../state/route";
import { useResource, useWholeReport } from "../../state/resource";
import { runId, runs } from "../../state/runs";
import { formatWindow } from "../../state/url";
import { rowKey } from "../../widgets/op/named";
import type { PageEntry } from "../../tools/pages";
import type { Item } from "./rank";
import { rank } from "./rank";

interface Goal extends Item {
  readonly act: () => void;
}

function opGoals(report: Report | null): Goal[] {
  const table = tableOf(report, "ops");
  if (table === null) return [];
  const [name, module, self] = [columnIndex(table, "name", "op"), columnIndex(table, "module"), columnIndex(table, "self_ps")];
  return table.rows.map((row) => {
    const time = numberAt(row, self);
    const note = [textAt(row, module) ?? "", time === null ? "" : formatDuration(time)].filter(Boolean).join(", ");
    return {
      kind: "op",
      label: textAt(row, Math.max(0, name)) ?? "",
      note,
      act: () => go({ page: "ops", view: { sel: rowKey(table, row) } }),
    };
  });
}

function stepGoals(steps: Steps | null): Goal[] {
  return (steps?.steps ?? []).map((step) => ({
    kind: "step",
    label: `Step ${step.number}`,
    note: `${formatDuration(step.end_ps - step.start_ps)}, ${step.class}`,
    act: () => go({ page: "timeline", view: { at: formatWindow(step.start_ps, step.end_ps) } }),
  }));
}

function trackGoals(tracks: Tracks | null): Goal[] {
  return (tracks?.groups ?? []).flatMap((group) =>
    group.tracks.map((track) => ({
      kind: "track" as const,
      label: track.name,
      note: group.name,
      act: () => go({ page: "timeline", view: { track: String(track.id) } }),
    })),
  );
}

export interface FindProps {
  readonly pages: readonly PageEntry[];
  readonly onClose: () => void;
}

export default function FindDialog({ pages, onClose }: FindProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const list = useRef<HTMLUListElement>(null);
  const [query, setQuery] = useState("");
  const [at, setAt] = useState(0);
  useEffect(() => dialog.current?.showModal(), []);
  // What is dear to know is asked for once somebody looks for something.
  const run = query.trim() === "" ? null : runId.value;
  const ops = useWholeReport("ops", run !== null);
  const steps = useResource(run === null ? null : `timeline steps ${run}`, `timeline steps ${run}`, (signal) =>
    getSteps(run ?? "", signal),
  );
  const tracks = useResource(run === null ? null : `tracks ${run}`, `tracks ${run}`, (signal) => getTracks(run ?? "", signal));
  const known = runs.value?.runs ?? [];
  const goals = useMemo((): Goal[] => {
    const toPages = pages.map((entry): Goal => {
      return { kind: "page", label: entry.title, note: entry.info.question, act: () => go({ page: entry.info.id }) };
    });
    const toDo = commands.value.map((one): Goal => ({ kind: "command", label: one.label, note: one.key ?? "", act: one.run }));
    const toRuns = known.map((one): Goal => ({ kind: "run", label: one.name, note: one.path, act: () => go({ run: one.id }) }));
    return [...toPages, ...toDo, ...toRuns, ...stepGoals(steps.data), ...opGoals(ops.data), ...trackGoals(tracks.data)];
  }, [pages, commands.value, known, steps.data, ops.data, tracks.data]);
  const found = useMemo(() => rank(query, goals), [query, goals]);
  const shown = Math.min(at, Math.max(0, found.length - 1));
  useEffect(() => {
    list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }, [shown, found]);
  const close = (): void => dialog.current?.close();
  const choose = (goal: Goal | undefined): void => {
    if (goal === undefined) return;
    close();
    goal.act();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const moves: Record<string, number> = { ArrowDown: shown + 1, ArrowUp: shown - 1, PageDown: shown + 8, PageUp: shown - 8 };
    const move = moves[event.key];
    if (move !== undefined) setAt(Math.min(found.length - 1, Math.max(0, move)));
    else if (event.key === "Enter") choose(found[shown]);
    else return;
    event.preventDefault();
  };
  const waits = run !== null && (ops.loading || steps.loading || tracks.loading);
  return (
    <dialog
      class="find"
      ref={dialog}
      onClose={onClose}
      aria-label="Go to a page, an op, a step, a track or a run, or run a command"
      onClick={(event) => event.target === dialog.current && close()}
    >
      <input
        class="find-query"
        type="text"
        role="combobox"
        autofocus
        spellcheck={false}
        autocomplete="off"
        placeholder="Page, op, step, track, run or command"
        aria-label="Page, op, step, track, run or command"
        aria-expanded={true}
        aria-controls="find-list"
        aria-activedescendant={found.length > 0 ? `find-${shown}` : undefined}
        value={query}
        onInput={(event) => {
          setQuery(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={onKeyDown}
      />
      <ul id="find-list" class="find-list" role="listbox" aria-label="Results" ref={list}>
        {found.map((goal, i) => (
          <li
            key={`${goal.kind} ${goal.label} ${goal.note} ${i}`}
            id={`find-${i}`}
            role="option"
            aria-selected={i === shown}
            onPointerMove={() => i !== shown && setAt(i)}
            onClick={() => choose(goal)}
          >
            <span class="find-label">{goal.label}</span>
            <span class="find-note">{goal.note}</span>
            <span class="find-kind">{goal.kind}</span>
          </li>
        ))}
      </ul>
      <p class="find-foot" role="status">
        {found.length === 0
          ? waits
            ? "looking…"
            : "No match."
          : waits
            ? "searching ops, steps and tracks…"
            : "Enter goes there, Esc closes"}
      </p>
    </dialog>
  );
}
