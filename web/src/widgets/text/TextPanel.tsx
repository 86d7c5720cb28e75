import { useState } from "preact/hooks";

import type { ReportText } from "../../api/types";
import { formatInt } from "../../base/format";
import { Panel } from "../Panel";
import { TextView } from "./TextView";
import { copyText } from "./copy";
import { splitLines } from "./lines";

/** A report's text with its title, to read and to take away. */
export function TextPanel({ text }: { readonly text: ReportText }) {
  const lines = splitLines(text.text);
  return (
    <Panel
      title={text.title || text.id}
      note={lines.length === 1 ? "1 line" : `${formatInt(lines.length)} lines`}
      flush
      actions={<CopyButton text={text.text} />}
    >
      <TextView text={text.text} label={text.title || text.id} />
    </Panel>
  );
}

export function CopyButton({ text }: { readonly text: string }) {
  const [said, setSaid] = useState("");
  return (
    <>
      <span class="panel-note" role="status">
        {said}
      </span>
      <button
        type="button"
        class="quiet"
        onClick={() => {
          copyText(text).then((done) => {
            setSaid(done ? "copied" : "the browser does not allow it");
            setTimeout(() => setSaid(""), 1500);
          });
        }}
      >
        Copy
      </button>
    </>
  );
}
