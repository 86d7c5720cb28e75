import { describe, expect, it } from "vitest";

import { FIRST, asked, parseMillis, parseServers, restored, wrongIn } from "./form";

describe("the capture form", () => {
  it("asks for what XProf's dialog asks for, and leaves defaults out", () => {
    expect(wrongIn(FIRST)).toEqual({});
    expect(asked(FIRST)).toEqual({ servers: ["localhost:9999"], duration_ms: 1000, delay_ms: 0, retries: 0, options: [] });
    const form = {
      ...FIRST,
      servers: "a:1, b:2\nc:3",
      duration: "500ms",
      delay: "2s",
      python: "1",
      tpu: "TRACE_COMPUTE",
      more: " x=1 \n\ny=a=b",
    };
    expect(wrongIn(form)).toEqual({});
    expect(asked(form)).toEqual({
      servers: ["a:1", "b:2", "c:3"],
      duration_ms: 500,
      delay_ms: 2000,
      retries: 0,
      options: ["python_tracer_level=1", "tpu_trace_mode=TRACE_COMPUTE", "x=1", "y=a=b"],
    });
  });

  it("reads lengths of time", () => {
    expect(["1000", "1s", "1.5 s", ".5s", "2m", "20ms", "1h"].map(parseMillis)).toEqual([1000, 1000, 1500, 500, 120_000, 20, 3_600_000]);
    expect(["", "s", "-1s", "1 week", "1e3", "1s 2s"].map(parseMillis)).toEqual([null, null, null, null, null, null]);
  });

  it("reads servers in any list", () => {
    expect(parseServers(" grpc://a:1,,b:2;\n[::1]:3 ")).toEqual(["a:1", "b:2", "[::1]:3"]);
    expect(parseServers(" ,\n")).toEqual([]);
  });

  it("says what is wrong where it is wrong", () => {
    for (const servers of ["", "localhost", "http://a:1", "a:b", "a:1 b", "::1:9", "u@a:1"]) {
      expect(Object.keys(wrongIn({ ...FIRST, servers })), servers).toEqual(["servers"]);
    }
    expect(wrongIn({ ...FIRST, servers: "[::1]:9012" })).toEqual({});
    expect(Object.keys(wrongIn({ ...FIRST, duration: "0s", delay: "later", retries: "-1", more: "a=1\nb" }))).toEqual([
      "duration",
      "delay",
      "retries",
      "more",
    ]);
  });

  it("takes up what was asked last, and nothing else", () => {
    const form = { ...FIRST, servers: "w:1", python: "1" };
    expect(restored(JSON.stringify(form))).toEqual(form);
    expect(restored(JSON.stringify({ servers: 7, duration: "3s", evil: "x" }))).toEqual({ ...FIRST, duration: "3s" });
    for (const text of [null, "", "{", "7", "null", "[]"]) expect(restored(text)).toEqual(FIRST);
  });
});
