/** What the capture dialog holds, and what is asked of the server for it. Pure. */

import type { CaptureAsked } from "../../api/types";

export interface Form {
  readonly servers: string;
  readonly duration: string;
  readonly delay: string;
  readonly retries: string;
  readonly host: string;
  readonly device: string;
  readonly python: string;
  /** Empty leaves it to the program. */
  readonly tpu: string;
  /** `name=value`, one a line. */
  readonly more: string;
}

/** As XProf's dialog has it, but for the retries: a wrong address is named at once. */
export const FIRST: Form = {
  servers: "localhost:9999",
  duration: "1s",
  delay: "0s",
  retries: "0",
  host: "2",
  device: "1",
  python: "0",
  tpu: "",
  more: "",
};

export const TPU_MODES = ["TRACE_ONLY_HOST", "TRACE_ONLY_XLA", "TRACE_COMPUTE", "TRACE_COMPUTE_AND_SYNC"] as const;

const SIZES: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, min: 60_000, h: 3_600_000 };

/** Whole milliseconds; null where it is no length of time. Without a unit it is milliseconds, as in XProf. */
export function parseMillis(text: string): number | null {
  const match = /^(\d+(?:\.\d+)?|\.\d+)\s*([a-z]*)$/i.exec(text.trim());
  if (match === null) return null;
  const size = SIZES[(match[2] === "" ? "ms" : (match[2] ?? "")).toLowerCase()];
  const value = size === undefined ? NaN : Math.round(Number(match[1]) * size);
  return Number.isSafeInteger(value) ? value : null;
}

/** `host:port` each; commas, spaces or lines between them. */
export function parseServers(text: string): readonly string[] {
  return text
    .split(/[\s,;]+/)
    .map((one) => one.replace(/^grpc:\/\//, ""))
    .filter((one) => one !== "");
}

export type Wrong = Partial<Record<keyof Form, string>>;

/** What is wrong with each field; nothing where all is well. */
export function wrongIn(form: Form): Wrong {
  const wrong: Record<string, string> = {};
  const servers = parseServers(form.servers);
  const bad = servers.find((one) => !/^(\[[0-9a-f:.]+\]|[^:/@?#]+):\d{1,5}$/i.test(one));
  if (servers.length === 0) wrong["servers"] = "Name at least one server, as host:port.";
  else if (bad !== undefined) wrong["servers"] = `Expected host:port, such as localhost:9999; found ${bad}`;
  const duration = parseMillis(form.duration);
  if (duration === null || duration === 0) wrong["duration"] = "Expected a duration such as 500ms or 2s.";
  if (parseMillis(form.delay) === null) wrong["delay"] = "Expected a duration such as 0s or 30s.";
  if (!/^\d{1,2}$/.test(form.retries.trim())) wrong["retries"] = "Expected a small whole number.";
  const pair = lines(form.more).find((line) => !/^[^=\s]+\s*=/.test(line));
  if (pair !== undefined) wrong["more"] = `Expected name=value; found ${pair}`;
  return wrong;
}

function lines(text: string): readonly string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

/** What the server is asked for. What is left as it was is not said: the server knows its defaults. */
export function asked(form: Form): CaptureAsked {
  const level = (name: string, key: "host" | "device" | "python"): readonly string[] =>
    form[key] === FIRST[key] ? [] : [`${name}_tracer_level=${form[key]}`];
  return {
    servers: parseServers(form.servers),
    duration_ms: parseMillis(form.duration) ?? 0,
    delay_ms: parseMillis(form.delay) ?? 0,
    retries: Number(form.retries),
    options: [
      ...level("host", "host"),
      ...level("device", "device"),
      ...level("python", "python"),
      ...(form.tpu === "" ? [] : [`tpu_trace_mode=${form.tpu}`]),
      ...lines(form.more),
    ],
  };
}

/** A form from what a browser kept of the last one; anything else in it is passed over. */
export function restored(text: string | null): Form {
  let kept: unknown = null;
  try {
    kept = JSON.parse(text ?? "null");
  } catch {
    // What cannot be read counts as nothing.
  }
  if (typeof kept !== "object" || kept === null) return FIRST;
  const field = (key: string, or: string): string => {
    const value: unknown = Reflect.get(kept as object, key);
    return typeof value === "string" && value.length < 5000 ? value : or;
  };
  return Object.fromEntries(Object.entries(FIRST).map(([key, or]) => [key, field(key, or)])) as unknown as Form;
}
