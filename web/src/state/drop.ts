/** Asks for a file to open, from anywhere on the page. */

import { signal } from "@preact/signals";

/** Grows with each time that somebody wants to choose a file. */
export const choosing = signal(0);

export function chooseFile(): void {
  choosing.value += 1;
}
