/** Lays out graphs beside the page, so that it stays responsive. */

import { layOut } from "./layout";
import type { LayoutQuestion } from "./placed";

interface Numbered {
  readonly number: number;
  readonly question: LayoutQuestion;
}

addEventListener("message", (event: MessageEvent<Numbered>) => {
  const { number, question } = event.data;
  try {
    postMessage({ number, answer: layOut(question) });
  } catch (error) {
    postMessage({ number, error: String(error) });
  }
});
