import type { ComponentChildren, RefObject } from "preact";
import { computed, effect } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { getClock, getSteps, getTracks, getUtilisation } from "../../api/timeline";
import type { StepSpan, Tracks } from "../../api/timeline";
import { formatDuration, formatInt } from "../../base/format";
import { offer } from "../../state/commands";
import { dock, placeDock } from "../../state/dock";
import { go, scope, view } from "../../state/route";
import { useResource } from "../../state/resource";
import { runId } from "../../state/runs";
import { formatWindow } from "../../state/url";
import { Empty, ErrorBox, Loaded } from "../../widgets/States";
import type { TimelineModel } from "../../widgets/timeline/model";
import type { Picked } from "../../widgets/timeline/picks";
import { Strip } from "../../widgets/timeline/Strip";
import { TimelineView } from "../../widgets/timeline/TimelineView";
import type { TimelineHands } from "../../widgets/timeline/useKeys";
import { TOOLS } from "../../widgets/timeline/useKeys";
import { PageHead } from "../PageHead";
import type { PageProps } from "../pages";
import { readEvent, readEvents } from "./address";
import { AreaPanel } from "./AreaPanel";
import { ChosenPanel } from "./ChosenPanel";
import { ClockNote } from "./ClockNote";
import { Dock } from "./Dock";
import { EventPanel } from "./EventPanel";
import { Legend } from "./Legend";
import { ListPanel } from "./ListPanel";
import { MarksBar } from "./MarksBar";
import { BubblePanel, HiddenBar } from "./OverlapPanel";
import { isSearch } from "./query";
import type { Search } from "./SearchBar";
import { HitsByName, SearchBar, useSearch } from "./SearchBar";
import { moduleAt, timeIn, tracksIn } from "./scoped";
import { SecondRun } from "./SecondRun";
import { StepBar } from "./StepBar";
import { COLOURS, Toolbar } from "./Toolbar";
import type { DockTab } from "./tabs";
import { viewOf } from "../../widgets/timeline/viewport";
import { useTimelineModel } from "./useTimelineModel";
import { chooseEvents, flowsOf, goToEvent } from "./walk";

export function TimelinePage({ info }: PageProps) {
  const run = runId.value;
  const tracks = useResource(run === null ? null : `tracks ${run}`, `tracks ${run}`, (signal) => getTracks(run ?? "", signal));
  return (
    <div class="timeline-page">
      <PageHead info={info} />
      <Loaded from={tracks} what="the timeline">
        {(data) =>
          data.groups.length === 0 ? <Empty>This run has no events to draw.</Empty> : <Scoped key={run} run={run ?? ""} tracks={data} />
        }
      </Loaded>
    </div>
  );
}

/** The timeline of the scope's hosts and devices. */
function Scoped({ run, tracks }: { readonly run: string; readonly tracks: Tracks }) {
  const { hosts, devices } = scope.value;
  const shown = useMemo(() => tracksIn(tracks, { hosts, devices }), [tracks, hosts, devices]);
  return (
    <>
      {shown !== tracks && (
        <p class="tl-scoped">
          {`In the scope: ${formatInt(shown.groups.length)} of ${formatInt(tracks.groups.length)} devices and hosts are shown. `}
          <button type="button" class="link" onClick={() => go({ scope: { hosts: "", devices: "" } })}>
            Show all
          </button>
        </p>
      )}
      <Timeline run={run} tracks={shown} />
    </>
  );
}

/** The strip is drawn in so many parts: as many as a wide screen has pixels. */
const STRIP_PX = 1600;
const HINT =
  "Click an event for its details, Ctrl + click for several. Shift and drag for totals, flame graph and events of an area. M sets a mark, Q hides the details, ? shows all keys.";

/** Nothing here reads the view itself: while it moves, only the canvas and the few words that say where it is follow. */
function Timeline({ run, tracks }: { readonly run: string; readonly tracks: Tracks }) {
  const model = useTimelineModel(run, tracks);
  const search = useSearch(run, model);
  const field = useRef<HTMLInputElement>(null);
  const [listed, setListed] = useState(false);
  const [named, setNamed] = useState(false);
  const steps = useResource(`timeline steps ${run}`, `timeline steps ${run}`, (signal) => getSteps(run, signal));
  const several = (tracks.hosts?.length ?? 0) > 1;
  const clock = useResource(several ? `timeline clock ${run}` : null, `timeline clock ${run}`, (signal) => getClock(run, signal));
  useEffect(() => {
    model.steps.value = steps.data?.steps ?? [];
  }, [model, steps.data]);
  useEffect(() => {
    const asked = readEvent(view.value["ev"]);
    const abort = new AbortController();
    // A link to an event that is gone shows the timeline without it.
    if (asked !== null)
      goToEvent(model, asked.track, asked.event, null, abort.signal)
        .catch(() => {})
        .finally(() => (model.awaited.value = ""));
    const together = readEvents(view.value["evs"]);
    if (together.length > 0) chooseEvents(model, together, abort.signal).finally(() => (model.awaitedChosen.value = ""));
    return () => abort.abort();
  }, [model]);

  useModulesOfScope(model);
  const inScope = timeIn(scope.value, steps.data?.steps ?? []);
  useLookAtSteps(model, steps.data?.steps ?? null);
  const pick = (next: Picked | null): void => {
    model.selected.value = next;
  };
  const hands: TimelineHands = {
    search: () => {
      field.current?.focus();
      field.current?.select();
    },
    nextHit: (direction) => search.next(direction),
    list: () => setListed(!listed),
    details: () => acts.current.onDetails(),
    follow: (direction) => {
      const picked = model.selected.value;
      const [other] = picked === null ? [] : flowsOf(model.flows.value, picked, direction);
      if (other !== undefined) goToEvent(model, other.track, other.event, other.depth, new AbortController().signal).catch(() => {});
    },
  };
  const onDetails = (): void => {
    const something = model.selected.value ?? model.area.value;
    // Without details there is nothing to hide: Q would only surprise later.
    if (something !== null || listed || named || model.showBubbles.value) placeDock({ open: !dock.value.open });
  };
  const acts = useRef({ onDetails, onList: () => {}, onHit: hands.nextHit });
  acts.current = { onDetails, onList: () => setListed(!listed), onHit: hands.nextHit };
  useEffect(
    () =>
      offer([
        { label: "Timeline: zoom to the selection", key: "F", run: () => model.focus() },
        { label: "Timeline: the whole run", key: "0", run: () => model.look(model.limits.value) },
        { label: "Timeline: undo zoom", key: "Z", run: () => model.undo() },
        { label: "Timeline: redo zoom", key: "Shift + Z", run: () => model.redo() },
        { label: "Timeline: show or hide the details", key: "Q", run: () => acts.current.onDetails() },
        { label: "Timeline: list the events in view", key: "L", run: () => acts.current.onList() },
        { label: "Timeline: next hit", key: "N", run: () => acts.current.onHit(1) },
        { label: "Timeline: remove all marks", key: "Shift + M", run: () => (model.marks.value = []) },
        { label: "Timeline: overlap", run: () => (model.showOverlap.value = !model.showOverlap.value) },
        { label: "Timeline: bubbles", run: () => (model.showBubbles.value = !model.showBubbles.value) },
        ...COLOURS.map(([id, text]) => ({ label: `Timeline: colour by ${text}`, run: () => model.colourBy(id) })),
        ...TOOLS.map(([tool, text], i) => ({
          label: `Timeline: a drag does “${text.toLowerCase()}”`,
          key: String(i + 1),
          run: () => (model.tool.value = tool),
        })),
      ]),
    [model],
  );
  const onNamed = (): void => setNamed(!named);
  return (
    <>
      <Screen>
        <Toolbar run={run} model={model} scope={inScope} listed={listed} onList={() => setListed(!listed)} />
        <SearchBar model={model} search={search} field={field} named={named} onNamed={onNamed} />
        <Failure model={model} />
        <div class={`tl-stage ${dock.value.side}`}>
          <div class="tl-main">
            <RunStrip run={run} model={model} />
            <TimelineView
              model={model}
              scope={inScope}
              onPick={pick}
              hands={hands}
              name={`Timeline of ${run}`}
              onScopeTo={(device) => go({ scope: { devices: device } })}
            />
          </div>
          <Details
            {...{ run, model, search, listed, named }}
            onUnlist={() => setListed(false)}
            onUnname={() => setNamed(false)}
            onUnpick={() => pick(null)}
          />
        </div>
        <StepBar model={model} />
        <MarksBar model={model} />
        <HiddenBar model={model} />
        {scope.value.modules !== "" && (
          <p class="tl-scoped">{`Ops of ${scope.value.modules} are highlighted; pale events belong to another program, or to none.`}</p>
        )}
        <Legend model={model} />
      </Screen>
      <SecondRun run={run} model={model} />
      {clock.data !== null && several && <ClockNote clock={clock.data} />}
      <Spoken model={model} />
    </>
  );
}

/** Goes to the steps of the scope when it is set, and at first where the address names no other view. */
function useLookAtSteps(model: TimelineModel, steps: readonly StepSpan[] | null): void {
  const { steps: asked, steady } = scope.value;
  const before = useRef<string | null>(null);
  useEffect(() => {
    const key = `${asked} ${steady}`;
    if (steps === null || before.current === key) return;
    const isFirst = before.current === null;
    before.current = key;
    const time = asked === "" && !steady ? null : timeIn(scope.value, steps);
    if (time === null || (isFirst && (view.value["view"] ?? "") !== "")) return;
    const next = viewOf(model.limits.value, time.start, time.end);
    if (isFirst) model.turn(next);
    else model.look(next);
  }, [model, steps, asked, steady]);
}

/** Lets the ops of the scope's module stand out: of several the first that is found. */
function useModulesOfScope(model: TimelineModel): void {
  const words = scope.value.modules;
  useEffect(() => {
    if (words === "") return undefined;
    model.colourBy("module");
    const undo = effect(() => {
      void model.loader.version.value;
      const at = moduleAt(model.classes.names, words);
      if (at >= 0 && model.highlight.peek() === null) model.highlight.value = at;
    });
    return () => {
      undo();
      model.colourBy("category");
    };
  }, [model, words]);
}

/** The strip asks what it shows once the first slices are there: they come first. */
function RunStrip({ run, model }: { readonly run: string; readonly model: TimelineModel }) {
  const drawn = useMemo(() => computed(() => model.loader.version.value > 0), [model]);
  const key = `timeline strip ${run}`;
  const strip = useResource(drawn.value ? key : null, key, (signal) => getUtilisation(run, STRIP_PX, signal));
  return <Strip model={model} utilisation={strip.data} />;
}

/** As tall as the window has room for below what stands above it. */
function Screen({ children }: { readonly children: ComponentChildren }) {
  const box = useRef<HTMLDivElement>(null);
  useTop(box);
  return (
    <div ref={box} class="tl-screen">
      {children}
    </div>
  );
}

/** Tells the style sheet how far from the document's top an element begins, and follows it. */
function useTop(box: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const measure = (): void => {
      const element = box.current;
      if (element !== null) element.style.setProperty("--tl-top", `${Math.round(element.getBoundingClientRect().top + scrollY)}px`);
    };
    // What stands above is part of the body, and makes it longer.
    const observer = new ResizeObserver(measure);
    observer.observe(document.body);
    measure();
    return () => observer.disconnect();
  }, []);
}

interface DetailsProps {
  readonly run: string;
  readonly model: TimelineModel;
  readonly search: Search;
  readonly listed: boolean;
  readonly named: boolean;
  readonly onUnlist: () => void;
  readonly onUnname: () => void;
  readonly onUnpick: () => void;
}

/** What there is to show beside the canvas now. */
function Details({ run, model, search, listed, named, onUnlist, onUnname, onUnpick }: DetailsProps) {
  const [picked, area] = [model.selected.value, model.area.value];
  const tabs: DockTab[] = [];
  if (picked !== null) {
    const label = picked.count > 1 ? `${formatInt(picked.count)} events` : "Event";
    tabs.push({ id: "event", label, about: `${picked.track} ${picked.event} ${picked.start} ${picked.depth}` });
  }
  const chosen = model.chosen.value;
  if (chosen.length > 0) {
    const about = chosen.map((one) => `${one.track} ${one.start} ${one.depth}`).join(",");
    tabs.push({ id: "chosen", label: `${formatInt(chosen.length)} picked`, about });
  }
  if (area !== null) tabs.push({ id: "area", label: "Selected area", about: `${area.start} ${area.end} ${area.tracks?.join(",") ?? ""}` });
  if (listed) tabs.push({ id: "list", label: "Events in view", about: "" });
  if (named && isSearch(search.form)) tabs.push({ id: "names", label: "Hits by name", about: "" });
  if (model.showBubbles.value) tabs.push({ id: "bubbles", label: "Bubbles", about: "" });
  const panel = (tab: string): ComponentChildren => {
    if (tab === "event") return <EventPanel run={run} model={model} onClose={onUnpick} />;
    if (tab === "chosen") return <ChosenPanel model={model} />;
    if (tab === "area") {
      const scopeTo = (start: number, end: number): void => go({ scope: { window: formatWindow(start, end) } });
      return <AreaPanel run={run} model={model} search={search} onScope={scopeTo} />;
    }
    if (tab === "list") return <ListPanel model={model} onClose={onUnlist} />;
    if (tab === "names") return <HitsByName search={search} onClose={onUnname} />;
    return <BubblePanel model={model} />;
  };
  return (
    <Dock tabs={tabs} hint={HINT}>
      {panel}
    </Dock>
  );
}

function Failure({ model }: { readonly model: TimelineModel }) {
  const error = model.loader.failure.value;
  return error === null ? null : <ErrorBox error={error} reload={() => model.loader.retry()} />;
}

/** Says what is picked to those who do not see it. */
function Spoken({ model }: { readonly model: TimelineModel }) {
  const picked = model.selected.value;
  const group = model.tracks.groups.find((one) => one.tracks.some((track) => track.id === picked?.track));
  const track = group?.tracks.find((one) => one.id === picked?.track);
  const what = picked === null ? "" : picked.count > 1 ? `${picked.count} events` : picked.name;
  return (
    <p class="visually-hidden" aria-live="polite">
      {picked === null
        ? ""
        : `${what}, ${formatDuration(picked.duration)}, at ${formatDuration(picked.start, 6)}, on ${track?.name ?? "a track"} of ${group?.name ?? "the run"}`}
    </p>
  );
}
