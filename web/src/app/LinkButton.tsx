import { useState } from "preact/hooks";

import { route } from "../state/route";
import { runId } from "../state/runs";
import { formatRoute } from "../state/url";
import { copyText } from "../widgets/text/copy";

const SAID_MS = 1500;

/** Copies a link to what is shown. It names the run, so that it shows the same after a newer one has come. */
export function LinkButton() {
  const [said, setSaid] = useState("");
  const copy = async (): Promise<void> => {
    const query = formatRoute({ ...route.value, run: runId.value ?? "", embed: false });
    const done = await copyText(new URL(query, location.href).href);
    setSaid(done ? "Copied" : "Not copied");
    setTimeout(() => setSaid(""), SAID_MS);
  };
  return (
    <button
      type="button"
      class="quiet"
      onClick={() => void copy()}
      data-tip={"Copies a link to exactly this view: run, page, scope and selection."}
    >
      {said === "" ? "Link" : said}
    </button>
  );
}
