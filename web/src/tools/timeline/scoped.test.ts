import { expect, it } from "vitest";

import type { StepSpan, TrackGroup, Tracks } from "../../api/timeline";
import { timeIn, tracksIn } from "./scoped";

const group = (host: string, device: string | null): TrackGroup => ({
  id: `${host}${device}`,
  name: device ?? `${host}/CPU`,
  kind: device === null ? "host" : "device",
  host,
  device,
  tracks: [],
});
const groups = [group("a", "a/TPU:0"), group("a", "a/TPU:1"), group("a", null), group("b", "b/TPU:0"), group("b", null)];
const tracks: Tracks = { start_ps: 0, end_ps: 100, active_ps: null, groups, hosts: ["a", "b"] };
const ids = (scope: { hosts?: string; devices?: string }) =>
  tracksIn(tracks, { hosts: "", devices: "", ...scope }).groups.map((one) => one.id);

it("shows the scope's hosts and devices, and the threads of their hosts", () => {
  expect(ids({ hosts: "b" })).toEqual(["bb/TPU:0", "bnull"]);
  expect(ids({ devices: "a/TPU:1" })).toEqual(["aa/TPU:1", "anull"]);
  expect(ids({ devices: "TPU:0" })).toEqual(["aa/TPU:0", "anull", "bb/TPU:0", "bnull"]);
  expect(ids({ devices: "TPU:0", hosts: "a" })).toEqual(["aa/TPU:0", "anull"]);
});

it("gives the very same tracks where the scope names none of them", () => {
  expect(tracksIn(tracks, { hosts: "", devices: "" })).toBe(tracks);
  expect(tracksIn(tracks, { hosts: "", devices: "TPU:9" })).toBe(tracks);
});

const step = (number: number, kind = "steady"): StepSpan =>
  ({ number, start_ps: number * 10, end_ps: number * 10 + 9, class: kind }) as StepSpan;
const steps = [step(0, "warm-up"), step(1), step(2), step(3), step(4, "edge")];
const time = (scope: { window?: string; steps?: string; steady?: boolean }) =>
  timeIn({ window: "", steps: "", steady: false, ...scope }, steps);

it("takes the time of the scope's steps, within its window", () => {
  expect(time({})).toBeNull();
  expect(time({ steps: "2-3" })).toEqual({ start: 20, end: 39 });
  expect(time({ steady: true })).toEqual({ start: 10, end: 39 });
  expect(time({ window: "5..25" })).toEqual({ start: 5, end: 25 });
  expect(time({ window: "5..25", steps: "2-3" })).toEqual({ start: 20, end: 25 });
  expect(time({ steps: "77" })).toBeNull();
});
