import { useState } from "preact/hooks";

import { copyText } from "../widgets/text/copy";

export interface CopyButtonProps {
  readonly label: string;
  /** What is copied, in words. */
  readonly tip: string;
  readonly text: () => string;
}

const SAID_MS = 1500;

/** Puts a text on the clipboard and says whether that went well. */
export function CopyButton({ label, tip, text }: CopyButtonProps) {
  const [said, setSaid] = useState("");
  const copy = async (): Promise<void> => {
    setSaid((await copyText(text())) ? "Copied" : "Not copied");
    setTimeout(() => setSaid(""), SAID_MS);
  };
  return (
    <button type="button" class="copy" onClick={() => void copy()} data-tip={tip}>
      <span aria-live="polite">{said === "" ? label : said}</span>
    </button>
  );
}
