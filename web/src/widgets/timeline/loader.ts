/** Asks for tiles: those in view first, then their neighbours; what is no longer wanted is taken back. */

import { signal } from "@preact/signals";

import type { ColourBy } from "../../api/timeline";
import type { Px } from "../../base/units";
import type { Tile } from "./tile";
import { decodeTile } from "./tile";
import type { TileSpot } from "./tiles";
import { TILE_PX, TileStore, tileRange, wantedTiles } from "./tiles";
import type { Viewport } from "./viewport";

/** One tile over a stretch of time; `px` is the finest detail wanted. */
export type LoadTile = (range: Viewport, px: Px, tracks: readonly number[], colour: ColourBy, signal: AbortSignal) => Promise<ArrayBuffer>;

interface Flight {
  readonly spot: TileSpot;
  readonly tracks: readonly number[];
  readonly abort: AbortController;
  readonly urgent: boolean;
}

/** A browser opens six connections to one server; two are left for everything else. */
const FLIGHTS = 4;
const STORE_BYTES = 96 * 2 ** 20;

export class TileLoader {
  readonly store = new TileStore(STORE_BYTES);
  /** Grows with each tile that arrives. */
  readonly version = signal(0);
  readonly loading = signal(false);
  readonly failure = signal<unknown>(null);
  /** Called with each tile before it is drawn. */
  onTile: (tile: Tile) => void = () => {};

  private flights: Flight[] = [];
  private colour: ColourBy = "category";

  constructor(
    private readonly bounds: Viewport,
    private readonly load: LoadTile,
  ) {}

  /** Other colours are other tiles. */
  setColour(colour: ColourBy): void {
    if (colour === this.colour) return;
    this.colour = colour;
    this.cancel(() => true);
    this.store.clear();
    this.version.value += 1;
  }

  /** Called after each drawn frame: cheap when everything is there. */
  ensure(view: Viewport, width: Px, tracks: readonly number[]): void {
    if (width < 1 || tracks.length === 0 || this.failure.value !== null) return;
    const { now, soon } = wantedTiles(this.bounds, view, width);
    const wanted = [...now, ...soon];
    this.cancel((flight) => !wanted.some((spot) => same(spot, flight.spot)));
    const lacking = now.some((spot) => this.store.missing(spot, tracks).length > 0);
    this.loading.value = lacking;
    for (const spot of now) this.start(spot, tracks, true);
    if (!lacking) for (const spot of soon) this.start(spot, tracks, false);
  }

  retry(): void {
    this.failure.value = null;
    this.version.value += 1;
  }

  dispose(): void {
    this.cancel(() => true);
  }

  private start(spot: TileSpot, tracks: readonly number[], urgent: boolean): void {
    const asked = this.flights.filter((flight) => same(flight.spot, spot)).flatMap((flight) => flight.tracks);
    const missing = this.store.missing(spot, tracks).filter((track) => !asked.includes(track));
    if (missing.length === 0 || this.flights.length >= FLIGHTS) return;
    const flight = { spot, tracks: missing, abort: new AbortController(), urgent };
    this.flights.push(flight);
    void this.fly(flight);
  }

  private async fly(flight: Flight): Promise<void> {
    try {
      const range = tileRange(this.bounds, flight.spot);
      const buffer = await this.load(range, TILE_PX, flight.tracks, this.colour, flight.abort.signal);
      if (flight.abort.signal.aborted) return;
      const tile = decodeTile(buffer);
      this.onTile(tile);
      this.store.put(flight.spot, flight.tracks, tile);
    } catch (error) {
      if (flight.abort.signal.aborted) return;
      this.failure.value = error;
      this.loading.value = false;
    } finally {
      this.flights = this.flights.filter((other) => other !== flight);
    }
    // Draws, and so asks for what else is wanted.
    this.version.value += 1;
  }

  private cancel(which: (flight: Flight) => boolean): void {
    for (const flight of this.flights) if (which(flight)) flight.abort.abort();
    this.flights = this.flights.filter((flight) => !flight.abort.signal.aborted);
  }
}

function same(a: TileSpot, b: TileSpot): boolean {
  return a.level === b.level && a.index === b.index;
}

/** A question asked again and again as the view moves: the hand comes to rest, then the newest alone is asked. */
export class Latest<T> {
  readonly value = signal<T | null>(null);
  readonly error = signal<unknown>(null);
  private asked = "";
  private timer: ReturnType<typeof setTimeout> | undefined;
  private abort: AbortController | null = null;

  constructor(private readonly restMs: number) {}

  ask(key: string, load: (signal: AbortSignal) => Promise<T>): void {
    if (key === this.asked) return;
    this.asked = key;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.answer(load), this.restMs);
  }

  /** Forgets what it has and what it waits for. */
  drop(): void {
    clearTimeout(this.timer);
    this.abort?.abort();
    this.asked = "";
    this.value.value = null;
    this.error.value = null;
  }

  private async answer(load: (signal: AbortSignal) => Promise<T>): Promise<void> {
    this.abort?.abort();
    const abort = new AbortController();
    this.abort = abort;
    try {
      const got = await load(abort.signal);
      if (abort.signal.aborted) return;
      this.error.value = null;
      this.value.value = got;
    } catch (error) {
      if (!abort.signal.aborted) this.error.value = error;
    }
  }
}
