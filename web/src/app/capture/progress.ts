/** How far a capture is, in words and as a share. Pure. */

import type { Capture, CaptureServer } from "../../api/types";
import { formatBytes } from "../../base/format";

export function seconds(ms: number): string {
  return ms < 10_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 1000)} s`;
}

/** Of delay and duration together; null where nobody can tell. What comes after them takes as long as it takes. */
export function share(capture: Capture): number | null {
  const whole = capture.delay_ms + capture.duration_ms;
  if (capture.state === "waiting" && capture.starts_in_ms !== null) {
    return Math.max(0, capture.delay_ms - capture.starts_in_ms) / whole;
  }
  if (capture.state !== "profiling") return null;
  const slowest = Math.min(...capture.servers.map((one) => (one.state === "profiling" ? one.elapsed_ms : capture.duration_ms)));
  return Math.min(1, (capture.delay_ms + Math.min(slowest, capture.duration_ms)) / whole);
}

/** One sentence on the whole. */
export function sentence(capture: Capture): string {
  const many = capture.servers.length > 1 ? `${capture.servers.length} servers` : (capture.servers[0]?.server ?? "the server");
  switch (capture.state) {
    case "connecting":
      return `Connecting to ${many}`;
    case "retrying":
      return `Asking ${many} again`;
    case "waiting":
      return capture.starts_in_ms !== null && capture.starts_in_ms > 0 ? `Starting in ${seconds(capture.starts_in_ms)}` : "Starting";
    case "profiling": {
      const elapsed = Math.max(0, ...capture.servers.map((one) => one.elapsed_ms));
      return elapsed > capture.duration_ms
        ? `Recorded ${seconds(capture.duration_ms)}; the program collects its profile`
        : `Recording: ${seconds(elapsed)} of ${seconds(capture.duration_ms)}`;
    }
    case "receiving":
      return "Receiving the profile";
    case "writing":
      return "Writing the session";
    case "ending":
      return "Ending";
    case "done":
      return `Captured ${capture.session ?? ""}`;
    case "cancelled":
      return "Ended; nothing was written";
    default:
      return "No profile";
  }
}

/** A server's own state; the rows are shown where there are several, or one is asked again. */
export function serverWords(one: CaptureServer, duration_ms: number): string {
  const size = one.bytes === null ? "" : formatBytes(one.bytes, 3);
  const again = one.attempt > 1 ? ` (attempt ${one.attempt})` : "";
  switch (one.state) {
    case "profiling":
      return `recording, ${seconds(Math.min(one.elapsed_ms, duration_ms))}${again}`;
    case "receiving":
      return `receiving, ${size}${again}`;
    case "received":
      return `here, ${size}${again}`;
    default:
      return `${one.state}${again}`;
  }
}
