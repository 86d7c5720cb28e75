/** Hands a trace to Perfetto's page in another window, as its documentation on deep linking asks: ping until it answers, then post. */

const ORIGIN = "https://ui.perfetto.dev";
const PING_MS = 200;
const PATIENCE_MS = 60_000;

/** Called from a click, so that the browser lets the window open; `load` may take its time. */
export async function openInPerfetto(title: string, load: () => Promise<ArrayBuffer>): Promise<void> {
  const other = window.open(ORIGIN);
  if (other === null)
    throw new Error("The browser blocked the new window. Allow pop-ups for this page, or download the file and open it there.");
  const [buffer] = await Promise.all([load(), answers(other)]);
  other.postMessage({ perfetto: { buffer, title, fileName: `${title.replace(/[^\w.-]+/g, "_")}.pftrace` } }, ORIGIN);
}

function answers(other: Window): Promise<void> {
  return new Promise((resolve, reject) => {
    const began = performance.now();
    const timer = setInterval(() => {
      if (other.closed || performance.now() - began > PATIENCE_MS) {
        stop();
        reject(new Error("Perfetto's page did not answer. It needs the internet; you can also download the file and open it there."));
      } else other.postMessage("PING", ORIGIN);
    }, PING_MS);
    const onMessage = (event: MessageEvent): void => {
      if (event.origin !== ORIGIN || event.data !== "PONG") return;
      stop();
      resolve();
    };
    const stop = (): void => {
      clearInterval(timer);
      removeEventListener("message", onMessage);
    };
    addEventListener("message", onMessage);
  });
}
