/** What is damaged, and the run's verdict: the same sentence wherever a run has a headline. */

import type { ComponentChildren } from "preact";

import type { Report } from "../api/types";
import { isUnknown } from "../api/read";
import { Words } from "./Words";

/** Remarks that stand above all; the list of them has the rest. */
const REMARKS = 2;

/** The sentence of a diagnosis. */
export function Headline({ report, children }: { readonly report: Report; readonly children?: ComponentChildren }) {
  const verdict = report.values["verdict"];
  if (verdict === undefined || isUnknown(verdict)) return null;
  return (
    <p class="headline" data-id="verdict">
      <Words text={String(verdict.value)} />
      {verdict.status === "estimated" && <span class="sub"> (estimated)</span>}
      {children}
    </p>
  );
}

/** What is missing or damaged, where something is: numbers below are of what is left. */
export function DamageBanner({ report }: { readonly report: Report }) {
  const remarks = report.quality.filter((note) => note.severity !== "info");
  if (remarks.length === 0) return null;
  return (
    <div class="damage" role="note">
      {remarks.slice(0, REMARKS).map((note) => (
        <p key={note.message}>
          <Words text={note.message} />
          {note.cost !== "" && <span class="sub"> {note.cost}</span>}
        </p>
      ))}
      {remarks.length > REMARKS && <p class="sub">{`${remarks.length - REMARKS} more below, in Data quality.`}</p>}
    </div>
  );
}
