import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import type { Tracks } from "../../api/timeline";
import type { Row } from "./layout";
import { linkModels } from "./link";
import type { LoadTile } from "./loader";
import { TimelineModel } from "./model";
import { packTile } from "./packed";
import { TILE_PX } from "./tiles";

const tracks: Tracks = {
  start_ps: 0,
  end_ps: TILE_PX * 8,
  active_ps: null,
  hosts: ["h"],
  groups: [
    {
      id: "d",
      name: "TPU:0",
      kind: "device",
      host: "h",
      device: null,
      tracks: [
        { id: 1, name: "Ops", events: 2, depth: 1, kind: "other", nests: false, counter: false },
        { id: 2, name: "Steps", events: 1, depth: 1, kind: "other", nests: false, counter: false },
      ],
    },
  ],
};

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function server(): { load: LoadTile; asked: string[]; aborted: () => number } {
  const asked: string[] = [];
  const signals: AbortSignal[] = [];
  const load: LoadTile = async (range, _px, ids, colour, signal) => {
    asked.push(`${range.start}..${range.end} ${ids.join(",")} ${colour}`);
    signals.push(signal);
    await new Promise((done) => setTimeout(done, 10));
    return packTile(
      range.start,
      ids.map((id) => [id, [{ start: range.start, duration: 10, name: `op.${id}` }]] as const),
    );
  };
  return { load, asked, aborted: () => signals.filter((one) => one.aborted).length };
}

const rowsOf = (model: TimelineModel, ids: readonly number[]): Row[] =>
  model.layout.value.rows.filter((row) => row.kind === "track" && ids.includes(row.track.id));

it("adds tracks to the selected area one by one, and takes them out", () => {
  const model = new TimelineModel(tracks, { tile: server().load });
  model.toggleInArea(2);
  expect(model.area.value).toEqual({ start: 0, end: TILE_PX * 8, tracks: [2] });
  model.look({ start: 0, end: TILE_PX });
  model.toggleInArea(1);
  expect(model.area.value).toEqual({ start: 0, end: TILE_PX * 8, tracks: [2, 1] });
  model.toggleInArea(2);
  model.toggleInArea(1);
  expect(model.area.value).toBeNull();
});

describe("loading", () => {
  it("asks for what is in view, then around it, and never twice", async () => {
    const { load, asked } = server();
    const model = new TimelineModel(tracks, { tile: load });
    const rows = rowsOf(model, [1, 2]);
    model.look({ start: TILE_PX * 2, end: TILE_PX * 3 });
    model.ensure(TILE_PX, rows);
    model.ensure(TILE_PX, rows);
    expect(asked).toEqual([`${TILE_PX * 2}..${TILE_PX * 3} 1,2 category`]);
    expect(model.loader.loading.value).toBe(true);
    await vi.runAllTimersAsync();
    model.ensure(TILE_PX, rows);
    await vi.runAllTimersAsync();
    model.ensure(TILE_PX, rows);
    expect(asked.slice(1)).toEqual([
      `0..${TILE_PX * 8} 1,2 category`,
      `${TILE_PX * 3}..${TILE_PX * 4} 1,2 category`,
      `${TILE_PX}..${TILE_PX * 2} 1,2 category`,
    ]);
    expect(model.loader.loading.value).toBe(false);
    expect(model.pickAt(2, TILE_PX * 2 + 5, 0, 0)?.name).toBe("op.2");
  });
  it("asks only for the track that scrolls into view", async () => {
    const { load, asked } = server();
    const model = new TimelineModel(tracks, { tile: load });
    model.ensure(TILE_PX, rowsOf(model, [1]));
    await vi.runAllTimersAsync();
    model.ensure(TILE_PX, rowsOf(model, [1, 2]));
    expect(asked.at(-1)).toBe(`0..${TILE_PX * 8} 2 category`);
  });
  it("takes back what is no longer wanted", () => {
    const { load, aborted } = server();
    const model = new TimelineModel(tracks, { tile: load });
    model.look({ start: 0, end: TILE_PX });
    model.ensure(TILE_PX, rowsOf(model, [1]));
    model.look({ start: TILE_PX * 7, end: TILE_PX * 8 });
    model.ensure(TILE_PX, rowsOf(model, [1]));
    expect(aborted()).toBe(1);
  });
  it("keeps the failure until asked to try again", async () => {
    let fail = true;
    const { load: good } = server();
    const model = new TimelineModel(tracks, { tile: (...args) => (fail ? Promise.reject(new Error("gone")) : good(...args)) });
    model.ensure(1000, rowsOf(model, [1]));
    await vi.runAllTimersAsync();
    expect(model.loader.failure.value).toBeInstanceOf(Error);
    fail = false;
    model.loader.retry();
    model.ensure(1000, rowsOf(model, [1]));
    await vi.runAllTimersAsync();
    expect(model.loader.failure.value).toBeNull();
    expect(model.loader.loading.value).toBe(true);
  });
  it("asks again for other colours, but not for those by name", async () => {
    const { load, asked } = server();
    const model = new TimelineModel(tracks, { tile: load });
    model.ensure(1000, rowsOf(model, [1]));
    await vi.runAllTimersAsync();
    const before = asked.length;
    model.colourBy("name");
    model.ensure(1000, rowsOf(model, [1]));
    expect(asked.length).toBe(before);
    model.colourBy("module");
    model.ensure(1000, rowsOf(model, [1]));
    expect(asked.at(-1)).toMatch(/ module$/);
  });
});

describe("arranging", () => {
  const model = new TimelineModel(tracks, { tile: server().load });
  it("closes and opens groups", () => {
    const height = model.layout.value.height;
    model.toggle("d");
    expect(model.layout.value.height).toBeLessThan(height);
    expect(model.rowOf.value.get(1)?.key).toBe("d");
    model.toggle("d");
    expect(model.layout.value.height).toBe(height);
    expect(model.rowOf.value.get(1)?.key).toBe("t1");
  });
  it("moves, pins and hides", () => {
    model.move("t2", -1);
    expect(model.layout.value.rows.map((row) => row.key)).toEqual(["d", "t2", "t1"]);
    model.pin("t1");
    expect(model.layout.value.pinned.map((row) => row.key)).toEqual(["t1"]);
    model.hide("t1");
    expect(model.layout.value.pinned).toEqual([]);
    expect(model.layout.value.away).toBe(1);
  });
});

it("moves two runs as one, also where one of them has ended", () => {
  const make = (end_ps: number) => new TimelineModel({ ...tracks, end_ps }, { tile: server().load });
  const [first, second] = [make(1_000_000), make(4_000_000)];
  const undo = linkModels(first, second, 500_000);
  expect(second.view.value.start - first.view.value.start).toBe(500_000);
  first.look({ start: 2_000_000, end: 2_100_000 });
  expect(second.view.value).toEqual({ start: 2_500_000, end: 2_600_000 });
  second.look({ start: 100_000, end: 200_000 });
  expect(first.view.value).toEqual({ start: -400_000, end: -300_000 });
  undo();
  expect(first.view.value.start).toBe(0);
});
