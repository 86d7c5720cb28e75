/** The way to everything by name: Ctrl + K, or the button in the header. Its code comes when it is first opened. */

import { signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";

import type { PageEntry } from "../../tools/pages";
import type { FindProps } from "./FindDialog";

const open = signal(false);

export function FindButton() {
  return (
    <button
      type="button"
      class="quiet find-button"
      onClick={() => (open.value = true)}
      aria-keyshortcuts="Control+K"
      data-tip={"Goes to a page, an op, a step, a track or a run by name, and does what the page can do.\nCtrl + K"}
    >
      Find
    </button>
  );
}

export function FindLayer({ pages }: { readonly pages: readonly PageEntry[] }) {
  const [dialog, setDialog] = useState<ComponentType<FindProps> | null>(null);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
      event.preventDefault();
      if (open.value || document.querySelector("dialog[open]") === null) open.value = !open.value;
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  useEffect(() => {
    // Letters typed before its code is there are for it, and not for the page behind it.
    if (!open.value || dialog !== null) return undefined;
    const swallow = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      event.stopImmediatePropagation();
    };
    addEventListener("keydown", swallow, { capture: true });
    return () => removeEventListener("keydown", swallow, { capture: true });
  }, [open.value, dialog]);
  useEffect(() => {
    // Without its code there is nothing to open; the next try asks again.
    if (open.value && dialog === null)
      import("./FindDialog").then((loaded) => setDialog(() => loaded.default)).catch(() => (open.value = false));
  }, [open.value]);
  if (!open.value || dialog === null) return null;
  const Dialog = dialog;
  return <Dialog pages={pages} onClose={() => (open.value = false)} />;
}
