import { useEffect, useRef, useState } from "preact/hooks";

import type { LayoutAnswer, LayoutQuestion } from "./placed";

interface Said {
  readonly number: number;
  readonly answer?: LayoutAnswer;
  readonly error?: string;
}

/** What came of a question. */
interface Outcome {
  readonly question: LayoutQuestion | null;
  readonly error: string;
}

export interface Layout {
  /** The newest answer; while `busy` it may be the previous question's. */
  readonly answer: LayoutAnswer | null;
  readonly busy: boolean;
  readonly error: string;
}

/** Asks the layout worker. A question that comes while it works on another ends that one: nobody waits for it. */
export function useLayout(question: LayoutQuestion): Layout {
  const worker = useRef<Worker | null>(null);
  const asked = useRef(0);
  const [outcome, setOutcome] = useState<Outcome>({ question: null, error: "" });
  const [last, setLast] = useState<LayoutAnswer | null>(null);

  useEffect(() => {
    asked.current += 1;
    const number = asked.current;
    if (worker.current === null) {
      worker.current = new Worker(new URL("./layout.worker.ts", import.meta.url), { type: "module", name: "layout" });
    }
    const own = worker.current;
    let answered = false;
    own.onmessage = (event: MessageEvent<Said>) => {
      if (event.data.number !== number) return;
      answered = true;
      setOutcome({ question, error: event.data.error ?? "" });
      if (event.data.answer !== undefined) setLast(event.data.answer);
    };
    own.onerror = () => setOutcome({ question, error: "the layout could not be computed in this browser" });
    own.postMessage({ number, question });
    return () => {
      if (answered) return;
      own.terminate();
      worker.current = null;
    };
  }, [question]);
  useEffect(() => () => worker.current?.terminate(), []);

  const busy = outcome.question !== question;
  return { answer: last, busy, error: busy ? "" : outcome.error };
}
