/** Opens the dialog for captures, whose code comes with the first click, and shows that one is under way. */

import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";

import { capture, captureIsOpen } from "../../state/capture";
import { isOver } from "../../state/captured";

export function CaptureButton() {
  const one = capture.value;
  const isUnderWay = one !== null && !isOver(one);
  const hasFailed = one?.state === "failed" && !captureIsOpen.value;
  const words = isUnderWay ? "Capturing" : hasFailed ? "Not captured" : "Capture";
  return (
    <button
      type="button"
      class={isUnderWay || hasFailed ? "quiet capture-button on" : "quiet capture-button"}
      onClick={() => (captureIsOpen.value = true)}
      aria-haspopup="dialog"
      aria-label={isUnderWay ? "A capture is under way" : hasFailed ? "A capture failed: see why" : "Capture a profile"}
      data-tip="Captures a profile from a running program"
    >
      <span class="capture-dot" aria-hidden="true" />
      <span class="capture-word">{words}</span>
    </button>
  );
}

/** The dialog while it is open. */
export function CaptureLayer() {
  const [Dialog, setDialog] = useState<{ readonly view: ComponentType } | null>(null);
  const [failed, setFailed] = useState(false);
  const isOpen = captureIsOpen.value;
  useEffect(() => {
    if (!isOpen || Dialog !== null) return;
    import("./CaptureDialog").then(
      (module) => {
        setFailed(false);
        setDialog({ view: module.CaptureDialog });
      },
      () => {
        setFailed(true);
        captureIsOpen.value = false;
      },
    );
  }, [isOpen]);
  if (failed) {
    return (
      <div class="notice error capture-failed" role="alert">
        <p class="notice-title">The dialog did not load</p>
        <p>Its file could not be loaded. If haloscope serve was stopped, start it again, then reload this page.</p>
      </div>
    );
  }
  return isOpen && Dialog !== null ? <Dialog.view /> : null;
}
