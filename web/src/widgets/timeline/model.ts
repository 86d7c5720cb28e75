/** The timeline's state: what is in view, what is open, what is picked, and what has been loaded for it. */

import { computed, signal } from "@preact/signals";

import type { Slice, TimelineWindow, Tracks } from "../../api/types";
import type { Px } from "../../base/units";
import { layOut } from "./layout";
import type { Layer, Picked } from "./renderer";
import type { Loaded, Viewport } from "./viewport";
import { serves, span, toLoad, within } from "./viewport";

export type LoadWindow = (range: Viewport, px: Px, tracks: readonly number[], signal: AbortSignal) => Promise<TimelineWindow>;

type LoadedLayer = Layer & Loaded;

/** Waits for the hand to come to rest; zooming asks once, not at every notch of the wheel. */
const REST_MS = 50;

export class TimelineModel {
  readonly bounds: Viewport;
  readonly view = signal<Viewport>({ start: 0, end: 1 });
  readonly closed = signal<ReadonlySet<string>>(new Set());
  readonly hovered = signal<Picked | null>(null);
  readonly selected = signal<Picked | null>(null);
  readonly range = signal<Viewport | null>(null);
  readonly layers = signal<readonly LoadedLayer[]>([]);
  readonly loading = signal(false);
  readonly failure = signal<unknown>(null);
  readonly layout = computed(() => layOut(this.tracks.groups, this.closed.value));

  private base: LoadedLayer | null = null;
  private detail: LoadedLayer | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private abort: AbortController | null = null;
  private asked = "";

  constructor(
    readonly tracks: Tracks,
    private readonly load: LoadWindow,
  ) {
    this.bounds = { start: tracks.start_ps, end: Math.max(tracks.end_ps, tracks.start_ps + 1) };
    this.view.value = this.bounds;
  }

  look(view: Viewport): void {
    this.view.value = within(this.bounds, view);
  }

  toggle(group: string): void {
    const next = new Set(this.closed.value);
    if (!next.delete(group)) next.add(group);
    this.closed.value = next;
  }

  /** The name of a picked slice, wherever it was loaded. */
  nameOf(picked: Picked): string {
    for (const layer of [this.detail, this.base]) {
      if (layer?.slices.get(picked.track)?.includes(picked.slice) === true) return layer.names[picked.slice[3]] ?? "";
    }
    return "";
  }

  slicesOf(track: number): readonly Slice[] {
    const best =
      this.detail !== null && this.detail.start <= this.view.value.start && this.detail.end >= this.view.value.end
        ? this.detail
        : this.base;
    return best?.slices.get(track) ?? this.base?.slices.get(track) ?? [];
  }

  /** Asks the server when what is loaded does not serve the view. Called after each drawn frame. */
  ensure(width: Px, tracks: readonly number[]): void {
    if (width < 1 || tracks.length === 0) return;
    const missing = tracks.filter((track) => this.base?.slices.has(track) !== true);
    if (missing.length > 0 || this.base === null) {
      this.ask({ ...this.bounds, psPerPx: span(this.bounds) / width }, width, missing, true);
      return;
    }
    const view = this.view.value;
    const detail = this.detail;
    if (serves(this.base, view, width)) return;
    if (detail !== null && serves(detail, view, width) && tracks.every((track) => detail.slices.has(track))) return;
    this.ask(toLoad(this.bounds, view, width), width, tracks, false);
  }

  retry(): void {
    this.asked = "";
    this.failure.value = null;
    // A new value, though equal, makes the view draw and ask again.
    this.view.value = { ...this.view.value };
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.abort?.abort();
  }

  private ask(range: Loaded, width: Px, tracks: readonly number[], base: boolean): void {
    const question = `${range.start} ${range.end} ${width} ${tracks.join(",")}`;
    if (question === this.asked) return;
    this.asked = question;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.answer(range, width, tracks, base, question), this.base === null ? 0 : REST_MS);
  }

  private async answer(range: Loaded, width: Px, tracks: readonly number[], base: boolean, question: string): Promise<void> {
    this.abort?.abort();
    const abort = new AbortController();
    this.abort = abort;
    this.loading.value = true;
    try {
      const px = Math.ceil((width * span(range)) / (range.psPerPx * width));
      const got = await this.load(range, px, tracks, abort.signal);
      if (abort.signal.aborted) return;
      const layer = toLayer(range, got, tracks);
      if (base) this.base = this.base === null ? layer : merge(this.base, layer);
      else this.detail = layer;
      this.failure.value = null;
      this.layers.value = [this.base, this.detail].filter((one) => one !== null);
    } catch (error) {
      if (!abort.signal.aborted) this.failure.value = error;
    } finally {
      if (this.asked === question) this.loading.value = false;
    }
  }
}

function toLayer(range: Loaded, got: TimelineWindow, asked: readonly number[]): LoadedLayer {
  const slices = new Map<number, readonly Slice[]>(asked.map((track) => [track, []]));
  for (const track of got.tracks) slices.set(track.id, track.slices);
  return { ...range, names: got.names, slices };
}

/** Adds tracks to a layer of the same range; the second's name indices move behind the first's. */
export function merge(first: LoadedLayer, second: LoadedLayer): LoadedLayer {
  const shift = first.names.length;
  const slices = new Map(first.slices);
  for (const [track, own] of second.slices) {
    slices.set(
      track,
      own.map((s): Slice => [s[0], s[1], s[2], s[3] < 0 ? s[3] : s[3] + shift, s[4], s[5]]),
    );
  }
  return { ...first, names: [...first.names, ...second.names], slices };
}
