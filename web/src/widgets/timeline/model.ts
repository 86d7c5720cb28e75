/** The timeline's state: what is in view, how tracks are arranged, what is picked, and what has been loaded for it. */

import { computed, effect, signal } from "@preact/signals";

import type {
  ColourBy,
  Counter,
  Counters,
  DeviceOverlap,
  EventDetails,
  Flow,
  Flows,
  Hit,
  Overlap,
  SearchAnswer,
  StepSpan,
  Tracks,
} from "../../api/timeline";
import type { Picos, Px } from "../../base/units";
import { ClassTable } from "./classes";
import type { Move } from "./history";
import { ViewHistory } from "./history";
import type { Arrangement, Row } from "./layout";
import { AS_IT_COMES, layOut, movedAmong, rowsBetween, siblingsOf, tracksOfRow } from "./layout";
import type { LoadTile } from "./loader";
import { Latest, TileLoader } from "./loader";
import type { Loaded, Picked } from "./picks";
import { neighbour, sliceAt } from "./picks";
import type { Area } from "./scene";
import type { Viewport } from "./viewport";
import { pxToTime, span, viewOf, within } from "./viewport";

/** How the timeline asks. Everything but tiles may be absent. */
export interface Asks {
  readonly tile: LoadTile;
  readonly counters?: (range: Viewport, px: Px, tracks: readonly number[], signal: AbortSignal) => Promise<Counters>;
  readonly overlap?: (range: Viewport, px: Px, signal: AbortSignal) => Promise<Overlap>;
  readonly flows?: (track: number, event: number, signal: AbortSignal) => Promise<Flows>;
  readonly event?: (track: number, event: number, signal: AbortSignal) => Promise<EventDetails>;
  readonly hits?: (range: Viewport, query: string, signal: AbortSignal) => Promise<SearchAnswer>;
}

/** What a drag on the canvas does. */
export type Tool = "select" | "pan" | "zoom" | "measure";

/** What slices are coloured by; `name` needs no other answer of the server. */
export type Colouring = ColourBy | "name";

const REST_MS = 120;
/** Details of events that were looked at, kept so that the pointer can go to and fro. */
const KEPT_EVENTS = 400;

export class TimelineModel {
  readonly bounds: Viewport;
  /** Where the view may go: the bounds, or more where two runs are linked. */
  readonly limits = signal<Viewport>({ start: 0, end: 1 });
  readonly view = signal<Viewport>({ start: 0, end: 1 });
  readonly how = signal<Arrangement>(AS_IT_COMES);
  readonly hovered = signal<Picked | null>(null);
  readonly selected = signal<Picked | null>(null);
  /** Several events that were picked together. */
  readonly chosen = signal<readonly Picked[]>([]);
  readonly area = signal<Area | null>(null);
  readonly marks = signal<readonly Picos[]>([]);
  readonly colouring = signal<Colouring>("category");
  readonly highlight = signal<number | null>(null);
  readonly showOverlap = signal(false);
  readonly showBubbles = signal(false);
  readonly steps = signal<readonly StepSpan[]>([]);
  readonly step = signal<StepSpan | null>(null);
  /** The server's form of the search whose hits are drawn; empty for none. */
  readonly searching = signal("");
  readonly hit = signal<Hit | null>(null);
  /** Tracks on the screen, from top to bottom; set by the view as it scrolls. */
  readonly onScreen = signal<readonly number[]>([]);
  readonly loader: TileLoader;
  readonly classes = new ClassTable();
  readonly layout = computed(() => layOut(this.tracks.groups, this.how.value));
  readonly rowOf = computed(() => this.rowsByTrack());
  readonly tool = signal<Tool>("pan");
  /** `track,event` of an event that the address names, until it is found or known to be gone. */
  readonly awaited = signal("");
  /** The same of those that were picked together. */
  readonly awaitedChosen = signal("");
  /** Whether the selection came by the keyboard: its tip then stands beside it. */
  readonly keyed = signal(false);
  /** A row to bring into view: a track's key, or null once it is there. */
  readonly wanted = signal<string | null>(null);
  /** Where the pointer is on the canvas. */
  pointerPx: Px | null = null;
  width: Px = 0;

  private readonly counterAnswer = new Latest<Counters>(REST_MS);
  private readonly overlapAnswer = new Latest<Overlap>(REST_MS);
  private readonly flowAnswer = new Latest<Flows>(0);
  private readonly hitAnswer = new Latest<SearchAnswer>(REST_MS);
  readonly counters = computed(() => countersByTrack(this.counterAnswer.value.value));
  readonly overlap = computed<readonly DeviceOverlap[]>(() => this.overlapAnswer.value.value?.devices ?? []);
  /** Whether there is an answer yet, of this view or of one before. */
  readonly overlapKnown = computed(() => this.overlapAnswer.value.value !== null);
  readonly overlapError = computed(() => this.overlapAnswer.error.value);
  readonly flows = computed<readonly Flow[]>(() => this.flowAnswer.value.value?.flows ?? []);
  readonly hits = computed<readonly Hit[]>(() => (this.searching.value === "" ? [] : (this.hitAnswer.value.value?.hits ?? [])));
  private readonly stop: () => void;
  private readonly views = new ViewHistory();
  private readonly events = new Map<string, EventDetails>();

  constructor(
    readonly tracks: Tracks,
    private readonly asks: Asks,
  ) {
    this.bounds = { start: tracks.start_ps, end: Math.max(tracks.end_ps, tracks.start_ps + 1) };
    this.limits.value = this.bounds;
    this.view.value = this.bounds;
    this.loader = new TileLoader(this.bounds, asks.tile);
    this.stop = effect(() => this.askFlows(this.selected.value));
  }

  get loaded(): Loaded {
    return { store: this.loader.store, bounds: this.bounds, view: this.view.value, width: Math.max(1, this.width) };
  }

  /** Where the run's work is: what the timeline opens on. The whole run where that is most of it, or where no accelerator ran. */
  get home(): Viewport {
    const active = this.tracks.active_ps;
    if (active === null || active[1] <= active[0]) return this.bounds;
    const [start, end] = active;
    return (end - start) * 2 < span(this.bounds) ? viewOf(this.bounds, start, end) : this.bounds;
  }

  /** The time under the pointer. */
  get pointer(): Picos | null {
    return this.pointerPx === null ? null : pxToTime(this.view.value, this.width, this.pointerPx);
  }

  look(view: Viewport, how: Move = "jump"): void {
    const now = this.view.value;
    this.turn(view);
    if (this.view.value !== now) this.views.note(now, this.view.value, how, performance.now());
  }

  /** Follows another timeline: nothing that could be taken back. */
  turn(view: Viewport): void {
    const next = within(this.limits.value, view);
    const now = this.view.value;
    if (next.start !== now.start || next.end !== now.end) this.view.value = next;
  }

  /** Takes the last zoom back. */
  undo(): void {
    const view = this.views.undo(this.view.value);
    if (view !== null) this.turn(view);
  }

  redo(): void {
    const view = this.views.redo(this.view.value);
    if (view !== null) this.turn(view);
  }

  /** Zooms to what is selected: the event, else the area; to the whole run where nothing is. */
  focus(): void {
    const [picked, area] = [this.selected.value, this.area.value];
    if (picked !== null) this.look(viewOf(this.limits.value, picked.start, picked.start + picked.duration));
    else if (area !== null) this.look(viewOf(this.limits.value, area.start, area.end));
    else this.look(this.limits.value);
  }

  /** Opens what holds a track and brings it into view. */
  show(track: number): void {
    const group = this.tracks.groups.find((one) => one.tracks.some((other) => other.id === track));
    if (group === undefined) return;
    const key = `t${track}`;
    const without = (keys: ReadonlySet<string>): Set<string> => {
      const next = new Set(keys);
      for (const one of [key, group.id, `h:${group.host}`]) next.delete(one);
      return next;
    };
    this.arrange({ closed: without(this.how.value.closed), hidden: without(this.how.value.hidden), filter: "" });
    this.wanted.value = key;
  }

  /** Moves the view so that a stretch of time is in it, and keeps its span. */
  reveal(start: Picos, duration: Picos): void {
    const { start: left, end: right } = this.view.value;
    if (start + duration >= left && start <= right) return;
    const middle = start + duration / 2;
    const half = span(this.view.value) / 2;
    this.look({ start: middle - half, end: middle + half });
  }

  arrange(change: Partial<Arrangement>): void {
    this.how.value = { ...this.how.value, ...change };
  }

  toggle(key: string): void {
    this.arrange({ closed: toggled(this.how.value.closed, key) });
  }

  hide(key: string): void {
    this.arrange({ hidden: toggled(this.how.value.hidden, key), pinned: this.how.value.pinned.filter((one) => one !== key) });
  }

  pin(key: string): void {
    const { pinned } = this.how.value;
    this.arrange({ pinned: pinned.includes(key) ? pinned.filter((one) => one !== key) : [...pinned, key] });
  }

  move(key: string, by: number): void {
    const { pinned, order } = this.how.value;
    if (pinned.includes(key)) this.arrange({ pinned: movedAmong(pinned, pinned, key, by) });
    else this.arrange({ order: movedAmong(siblingsOf(this.tracks.groups, key), order, key, by) });
  }

  /** Adds a track to the selected area, or takes it out. Without an area it is what is in view. */
  toggleInArea(track: number): void {
    const { start, end } = this.view.value;
    const area = this.area.value ?? { start: Math.floor(start), end: Math.ceil(end), tracks: null };
    const before = area.tracks ?? [];
    const tracks = before.includes(track) ? before.filter((one) => one !== track) : [...before, track];
    this.area.value = tracks.length === 0 ? null : { ...area, tracks };
  }

  /** Adds a slice to those that are picked together, or takes it out; what is selected comes first. */
  choose(picked: Picked): void {
    const is = (one: Picked): boolean => one.track === picked.track && one.start === picked.start && one.depth === picked.depth;
    const selected = this.selected.value;
    const before = this.chosen.value.length === 0 && selected !== null && !is(selected) ? [selected] : this.chosen.value;
    this.chosen.value = before.some(is) ? before.filter((one) => !is(one)) : [...before, picked];
  }

  colourBy(colouring: Colouring): void {
    if (colouring === this.colouring.value) return;
    this.highlight.value = null;
    this.colouring.value = colouring;
    if (colouring === "name") return;
    this.classes.clear();
    this.classes.meant = colouring !== "module";
    this.loader.setColour(colouring);
  }

  addMark(time: Picos): void {
    this.marks.value = [...this.marks.value, Math.round(time)];
  }

  /** Asks for whatever the screen lacks. Called after each drawn frame with the rows that are on it, or near. */
  ensure(width: Px, rows: readonly Row[]): void {
    this.width = width;
    const events: number[] = [];
    const counters: number[] = [];
    for (const row of rows) {
      if (row.kind === "track" && row.track.counter === true) counters.push(row.track.id);
      else for (const track of tracksOfRow(row)) events.push(track.id);
    }
    const view = this.view.value;
    this.loader.ensure(view, width, events);
    const range = { start: Math.max(this.bounds.start, Math.floor(view.start)), end: Math.min(this.bounds.end, Math.ceil(view.end)) };
    if (range.end <= range.start) return;
    const place = `${range.start} ${range.end} ${Math.round(width)}`;
    const { counters: askCounters, overlap: askOverlap, hits: askHits } = this.asks;
    if (counters.length > 0 && askCounters !== undefined) {
      this.counterAnswer.ask(`${place} ${counters.join(",")}`, (abort) => askCounters(range, width, counters, abort));
    }
    if ((this.showOverlap.value || this.showBubbles.value) && askOverlap !== undefined) {
      this.overlapAnswer.ask(place, (abort) => askOverlap(range, width, abort));
    }
    const query = this.searching.value;
    if (query !== "" && askHits !== undefined) this.hitAnswer.ask(`${place} ${query}`, (abort) => askHits(range, query, abort));
  }

  /** What the server knows of one event, asked once. */
  async details(track: number, event: number, abort: AbortSignal): Promise<EventDetails> {
    const key = `${track} ${event}`;
    const known = this.events.get(key);
    if (known !== undefined) return known;
    if (this.asks.event === undefined) throw new Error("This timeline does not ask for details");
    const got = await this.asks.event(track, event, abort);
    this.events.set(key, got);
    for (const oldest of this.events.keys()) {
      if (this.events.size <= KEPT_EVENTS) break;
      this.events.delete(oldest);
    }
    return got;
  }

  pickAt(track: number, time: Picos, depth: number | null, slack: Picos): Picked | null {
    return sliceAt(this.loaded, track, time, depth, slack);
  }

  /** The slice beside the selected one; without a selection, what the first track shows at the middle of the view. */
  beside(direction: 1 | -1): Picked | null {
    const from = this.selected.value;
    return from === null ? this.middle() : neighbour(this.loaded, from, direction);
  }

  middle(): Picked | null {
    const { start, end } = this.view.value;
    for (const track of this.onScreen.value) {
      const found = this.pickAt(track, (start + end) / 2, 0, (end - start) / 2);
      if (found !== null) return found;
    }
    return null;
  }

  dispose(): void {
    this.stop();
    this.loader.dispose();
    for (const one of [this.counterAnswer, this.overlapAnswer, this.flowAnswer, this.hitAnswer]) one.drop();
  }

  private askFlows(picked: Picked | null): void {
    const { flows } = this.asks;
    this.flowAnswer.drop();
    if (picked === null || picked.event < 0 || flows === undefined) return;
    this.flowAnswer.ask(`${picked.track} ${picked.event}`, (abort) => flows(picked.track, picked.event, abort));
  }

  private rowsByTrack(): Map<number, Row> {
    const rows = new Map<number, Row>();
    let group: Row | null = null;
    const { layout } = this;
    const closedIn = new Map<string, Row>();
    for (const row of layout.value.rows) {
      if (row.kind !== "track") group = row;
      if (group?.kind === "group") closedIn.set(group.group.id, group);
      if (row.kind === "track") rows.set(row.track.id, row);
    }
    for (const row of layout.value.pinned) if (row.kind === "track") rows.set(row.track.id, row);
    for (const one of this.tracks.groups) {
      const header = closedIn.get(one.id);
      if (header !== undefined) for (const track of one.tracks) if (!rows.has(track.id)) rows.set(track.id, header);
    }
    return rows;
  }
}

/** Rows on the screen and as much again above and below. */
export function rowsNear(model: TimelineModel, top: Px, height: Px): Row[] {
  const layout = model.layout.value;
  return [...layout.pinned, ...rowsBetween(layout.rows, top - height / 2, top + height * 1.5)];
}

function toggled(keys: ReadonlySet<string>, key: string): Set<string> {
  const next = new Set(keys);
  if (!next.delete(key)) next.add(key);
  return next;
}

function countersByTrack(answer: Counters | null): Map<number, readonly Counter[]> {
  return new Map((answer?.tracks ?? []).map((track) => [track.id, track.counters]));
}
