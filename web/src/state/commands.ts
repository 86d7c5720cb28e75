/** What can be done from the keyboard by name: the shell's own commands and those of the page that is shown. */

import { computed, signal } from "@preact/signals";

export interface Command {
  readonly label: string;
  /** The key that does the same, where there is one. */
  readonly key?: string;
  readonly run: () => void;
}

const groups = signal<readonly (readonly Command[])[]>([]);

export const commands = computed(() => groups.value.flat());

/** Offers commands until the function that it gives is called. */
export function offer(own: readonly Command[]): () => void {
  groups.value = [...groups.peek(), own];
  return () => {
    groups.value = groups.peek().filter((one) => one !== own);
  };
}
