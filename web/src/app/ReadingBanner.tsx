/** Says that not all hosts of a run have been read yet, and how far it is. */

import { useEffect, useState } from "preact/hooks";

import { getProgress } from "../api/client";
import type { Progress } from "../api/types";
import { formatBytes } from "../base/format";
import { readingRun } from "../state/reading";
import { runId } from "../state/runs";

const BETWEEN_MS = 700;
const WORDS: Readonly<Record<string, string>> = { opening: "opened", reading: "read" };

export function ReadingBanner() {
  const run = readingRun.value;
  const [progress, setProgress] = useState<Progress | null>(null);
  useEffect(() => {
    if (run === null) return undefined;
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const ask = (): void => {
      getProgress(run, abort.signal)
        .then((now) => {
          if (abort.signal.aborted) return;
          if (now.state in WORDS) {
            setProgress(now);
            timer = setTimeout(ask, BETWEEN_MS);
          } else {
            setProgress(null);
            readingRun.value = null;
          }
        })
        .catch(() => setProgress(null));
    };
    ask();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [run]);
  if (progress === null || run !== runId.value) return null;
  const share = progress.bytes > 0 ? Math.min(1, progress.bytes_done / progress.bytes) : 0;
  const done = WORDS[progress.state] ?? "read";
  return (
    <div class="notice calm reading-banner" role="status">
      <p>{`${progress.hosts_done} of ${progress.hosts} hosts ${done}, ${formatBytes(progress.bytes_done, 3)} of ${formatBytes(progress.bytes, 3)}. Numbers cover the hosts read so far and change until all are read.`}</p>
      <progress value={share} max={1} aria-label={`Hosts ${done}`} />
    </div>
  );
}
