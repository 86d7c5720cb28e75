import { describe, expect, it } from "vitest";

import type { Capture, CaptureServer } from "../../api/types";
import { isOver } from "../../state/captured";
import { sentence, serverWords, share } from "./progress";

const server = (state: string, elapsed_ms = 0, bytes: number | null = null): CaptureServer => ({
  server: "a:1",
  state,
  elapsed_ms,
  bytes,
  attempt: 1,
  why: null,
});

const capture = (state: string, change: Partial<Capture> = {}): Capture => ({
  id: "1",
  state,
  begun_ms: 0,
  kind: null,
  elapsed_ms: 0,
  starts_in_ms: null,
  duration_ms: 2000,
  delay_ms: 0,
  servers: [server(state)],
  session: null,
  path: null,
  run: null,
  files: [],
  remarks: [],
  error: null,
  hint: null,
  ...change,
});

describe("the progress of a capture", () => {
  it("is a share of delay and duration, and unknown before and after", () => {
    expect(share(capture("connecting"))).toBeNull();
    expect(share(capture("waiting", { delay_ms: 2000, starts_in_ms: 1000 }))).toBe(0.25);
    expect(share(capture("profiling", { servers: [server("profiling", 500)] }))).toBe(0.25);
    expect(share(capture("profiling", { servers: [server("profiling", 500), server("received", 0, 9)] }))).toBe(0.25);
    expect(share(capture("profiling", { servers: [server("profiling", 9000)] }))).toBe(1);
    expect(share(capture("receiving"))).toBeNull();
  });

  it("is said in words", () => {
    expect(sentence(capture("connecting"))).toBe("Connecting to a:1");
    expect(sentence(capture("connecting", { servers: [server("connecting"), server("connecting")] }))).toBe("Connecting to 2 servers");
    expect(sentence(capture("waiting", { starts_in_ms: 1500 }))).toBe("Starting in 1.5 s");
    expect(sentence(capture("profiling", { servers: [server("profiling", 700)] }))).toBe("Recording: 0.7 s of 2.0 s");
    expect(sentence(capture("profiling", { servers: [server("profiling", 2700)] }))).toMatch(/^Recorded 2.0 s; /);
    expect(sentence(capture("failed"))).toBe("No profile");
    expect(serverWords(server("receiving", 0, 2048), 1)).toBe("receiving, 2.00 KiB");
    expect(serverWords({ ...server("retrying"), attempt: 2 }, 1)).toBe("retrying (attempt 2)");
  });

  it("has an end", () => {
    expect(["done", "failed", "cancelled"].map((state) => isOver(capture(state)))).toEqual([true, true, true]);
    expect(["ending", "writing", "profiling"].map((state) => isOver(capture(state)))).toEqual([false, false, false]);
  });
});
