import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import type { TimelineWindow, Tracks } from "../../api/types";
import type { LoadWindow } from "./model";
import { TimelineModel } from "./model";

const tracks: Tracks = {
  start_ps: 0,
  end_ps: 1_000_000,
  groups: [
    {
      id: "d",
      name: "TPU:0",
      kind: "device",
      tracks: [
        { id: 1, name: "Ops", events: 2, depth: 1 },
        { id: 2, name: "Steps", events: 1, depth: 1 },
      ],
    },
  ],
};

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function server(): { load: LoadWindow; asked: string[] } {
  const asked: string[] = [];
  const load: LoadWindow = (range, px, ids) => {
    asked.push(`${range.start}..${range.end} ${px}px ${ids.join(",")}`);
    const answer: TimelineWindow = {
      tracks: ids.map((id) => ({ id, slices: [[range.start, 10, 0, 0, 1, id]] })),
      names: [`op.${ids.join("")}`],
    };
    return Promise.resolve(answer);
  };
  return { load, asked };
}

describe("loading", () => {
  it("asks for the whole once, then for the part in view", async () => {
    const { load, asked } = server();
    const model = new TimelineModel(tracks, load);
    model.ensure(1000, [1, 2]);
    await vi.runAllTimersAsync();
    model.ensure(1000, [1, 2]);
    model.look({ start: 400_000, end: 500_000 });
    model.ensure(1000, [1, 2]);
    model.ensure(1000, [1, 2]);
    await vi.runAllTimersAsync();
    model.look({ start: 410_000, end: 510_000 });
    model.ensure(1000, [1, 2]);
    await vi.runAllTimersAsync();
    expect(asked).toEqual(["0..1000000 1000px 1,2", "350000..550000 2000px 1,2"]);
    expect(model.layers.value.length).toBe(2);
    expect(model.loading.value).toBe(false);
  });

  it("adds a track that scrolls into view, with its own names", async () => {
    const { load } = server();
    const model = new TimelineModel(tracks, load);
    model.ensure(1000, [1]);
    await vi.runAllTimersAsync();
    model.ensure(1000, [1, 2]);
    await vi.runAllTimersAsync();
    const slice = model.slicesOf(2)[0];
    if (slice === undefined) throw new Error("expected a slice");
    expect(model.nameOf({ track: 2, slice })).toBe("op.2");
    expect(model.slicesOf(1).length).toBe(1);
  });

  it("keeps the failure until asked to try again", async () => {
    let fail = true;
    const { load: good } = server();
    const model = new TimelineModel(tracks, (...args) => (fail ? Promise.reject(new Error("gone")) : good(...args)));
    model.ensure(1000, [1]);
    await vi.runAllTimersAsync();
    expect(model.failure.value).toBeInstanceOf(Error);
    fail = false;
    model.retry();
    model.ensure(1000, [1]);
    await vi.runAllTimersAsync();
    expect(model.failure.value).toBeNull();
  });
});

it("closes and opens groups", () => {
  const model = new TimelineModel(tracks, server().load);
  const height = model.layout.value.height;
  model.toggle("d");
  expect(model.layout.value.height).toBeLessThan(height);
  model.toggle("d");
  expect(model.layout.value.height).toBe(height);
});
