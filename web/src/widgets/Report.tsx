/** The parts every report has: findings, headline values, data quality, provenance. */

import type { Quality, Report, Value } from "../api/types";
import { placed } from "../api/place";
import { isUnknown, labelOf, valueText } from "../api/read";
import { formatBytes, formatQuantity } from "../base/format";
import { covers } from "./covers";
import { bySeverity } from "./evidence";
import { Explained } from "./Explained";
import { FindingCard, STATUS_WORDS } from "./Finding";
import { Panel } from "./Panel";
import { Words } from "./Words";

/** A small object as text: its keys and what they say. */
export function plain(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (Array.isArray(value))
    return value
      .map(plain)
      .filter((part) => part !== "")
      .join("; ");
  if (typeof value === "object") {
    return Object.entries(value)
      .map(([key, part]) => [key.replaceAll("_", " "), plain(part)])
      .filter(([, part]) => part !== "")
      .map(([key, part]) => `${key} ${part}`)
      .join(", ");
  }
  return String(value);
}

/** What the report covers, then every finding, the worst first: the words before the numbers. */
export function Findings({ report }: { readonly report: Report }) {
  return (
    <>
      <ScopeNote report={report} />
      {bySeverity(report.findings).map((finding) => (
        <FindingCard key={`${finding.id} ${finding.claim}`} finding={finding} report={report} />
      ))}
    </>
  );
}

/** Whether what was asked for holds, where something was asked for. */
export function Verdict({ report }: { readonly report: Report }) {
  if (report.gate === "not_comparable")
    return (
      <p class="verdict" role="status">
        <Mark holds={null} />
        Could not be decided: the runs are not comparable
      </p>
    );
  if (report.passed === null || report.passed === undefined) return null;
  return (
    <p class={report.passed ? "verdict good" : "verdict bad"} role="status">
      <Mark holds={report.passed} />
      {report.passed ? "All checks hold" : "Some checks do not hold"}
    </p>
  );
}

/** A tick or a cross, with a word for who does not see it. */
export function Mark({ holds }: { readonly holds: boolean | null }) {
  return (
    <span class={`mark-${holds === null ? "unknown" : holds ? "good" : "bad"}`}>
      <span aria-hidden="true">{holds === null ? "?" : holds ? "✓" : "✗"}</span>
      <span class="visually-hidden">{holds === null ? "not known" : holds ? "holds" : "does not hold"}</span>
    </span>
  );
}

/** What the numbers cover and what was left out, from the report itself. */
export function ScopeNote({ report }: { readonly report: Report }) {
  const left = report.scope.left_out ?? [];
  const about = covers(report);
  return (
    <div class="covers">
      <p>
        <b>Covers</b> {about.join(" · ")}
      </p>
      {left.length > 0 && <p class="scope-note">{`Left out: ${left.join("; ")}`}</p>}
    </div>
  );
}

export function ValueCard({ id, value }: { readonly id: string; readonly value: Value }) {
  const text = valueText(value);
  const size = text.length > 36 ? " sentence" : text.length > 18 ? " words" : text.length > 11 ? " long" : "";
  return (
    <div class="card" data-id={id}>
      <Explained
        class="card-label"
        doc={[value.doc, STATUS_WORDS[value.status]].filter(Boolean).join("\n")}
        unit={value.unit}
        id={id}
        of={value}
      >
        {labelOf(id, value)}
      </Explained>
      <span class={`card-value${size}`}>{text}</span>
      <span class="card-status">{value.status}</span>
    </div>
  );
}

/** A card for each number that is known; the others are named in one line, so that they do not drown the known. */
export function ValueCards({ report, ids }: { readonly report: Report; readonly ids?: readonly string[] }) {
  const all = (ids ?? Object.keys(report.values)).flatMap((id) => {
    const value = report.values[id];
    return value === undefined ? [] : [[id, value] as const];
  });
  const known = all.filter(([, value]) => !isUnknown(value));
  const unknown = all.filter(([, value]) => isUnknown(value));
  if (all.length === 0) return null;
  return (
    <div class="cards">
      {known.map(([id, value]) => (
        <ValueCard key={id} id={id} value={value} />
      ))}
      {unknown.length > 0 && (
        <p class="card unknown-values">
          <b>Unknown</b>
          {unknown.map(([id, value]) => (
            <span key={id} data-id={id}>
              <Explained doc={value.doc} unit={value.unit} id={id} of={value}>
                {labelOf(id, value)}
              </Explained>
            </span>
          ))}
        </p>
      )}
    </div>
  );
}

export function QualityList({ quality }: { readonly quality: readonly Quality[] }) {
  return (
    <Panel
      title="Data quality"
      note={quality.length === 0 ? "nothing is missing" : quality.length === 1 ? "1 note" : `${quality.length} notes`}
    >
      {quality.length === 0 ? (
        <p class="empty">No gaps, drops or guesses were found in this profile.</p>
      ) : (
        <ul class="quality">
          {quality.map((note) => (
            <li class={note.severity}>
              <a class="severity" href={placed(`/docs/data-quality#${note.id}`)} data-tip="What this remark means, and how to fix it">
                {note.severity}
              </a>
              <div>
                <p>
                  <Words text={note.message} />
                </p>
                {(note.cost ?? "") !== "" && (
                  <p class="sub">
                    <b>Costs</b> <Words text={note.cost ?? ""} />
                  </p>
                )}
                {(note.cure ?? "") !== "" && (
                  <p class="sub">
                    <b>Fix</b> <Words text={note.cure ?? ""} />
                  </p>
                )}
              </div>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

export function ProvenanceFoot({ report }: { readonly report: Report }) {
  const { files = [], hosts = [], coverage, peaks = [] } = report.provenance;
  const rows: [string, string][] = [
    ["Files", files.map((file) => `${file.path.split("/").at(-1) ?? file.path} (${formatBytes(file.bytes)})`).join(", ")],
    ["Hosts", hosts.join(", ")],
    ["Coverage", plain(coverage)],
    [
      "Peaks",
      peaks
        .map((peak) => `${peak.device_type} ${peak.resource} ${formatQuantity(peak.rate, peak.unit)} (from the ${peak.source})`)
        .join(", "),
    ],
    ["Devices", (report.scope.devices ?? []).join(", ")],
  ];
  return (
    <details class="provenance">
      <summary>Where these numbers come from</summary>
      <dl>
        {rows
          .filter(([, text]) => text !== "")
          .map(([name, text]) => (
            <div>
              <dt>{name}</dt>
              <dd>{text}</dd>
            </div>
          ))}
      </dl>
    </details>
  );
}
