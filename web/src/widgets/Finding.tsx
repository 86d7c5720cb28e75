/** A claim with what it rests on, what it could give, and where to look. */

import { useMemo, useState } from "preact/hooks";

import type { AnalysisInfo, Finding, Link, Report } from "../api/types";
import { formatShare } from "../base/format";
import { useAnalyses } from "../state/resource";
import { hrefOf } from "../state/route";
import type { Piece } from "./evidence";
import { pieces, targetsOf } from "./evidence";
import { Explained } from "./Explained";
import { PARTS, PART_NAMES, findingText, linkCommand, linkRoute, linkWords, savedShare, speedupText } from "./links";
import { copyText } from "./text/copy";

const NO_ANALYSES: readonly AnalysisInfo[] = [];
export const STATUS_WORDS: Readonly<Record<string, string>> = {
  measured: "Read directly from the profile",
  derived: "Computed only from measured numbers",
  estimated: "From a model of the device or of the program",
};

export interface FindingCardProps {
  readonly finding: Finding;
  /** What the words may point at; without it, as in a file that no server stands behind, they point at nothing. */
  readonly report?: Report;
  /** Reads as the headline of the page. */
  readonly lead?: boolean;
}

export function FindingCard({ finding, report, lead = false }: FindingCardProps) {
  return (
    <article class={`finding ${finding.severity}${lead ? " lead" : ""}`} data-id={finding.id}>
      <div class="finding-head">
        <p class="claim">
          <Said text={finding.claim} report={report} />
        </p>
        <div class="finding-side">
          <Gain speedup={finding.speedup} />
          <CopyFinding finding={finding} />
        </div>
      </div>
      <FindingParts finding={finding} report={report} />
    </article>
  );
}

/** All of a finding but its claim. */
export function FindingParts({ finding, report }: { readonly finding: Finding; readonly report: Report | undefined }) {
  const parts = PARTS.map((key) => [key, finding[key] ?? ""] as const).filter(([, text]) => text !== "");
  const { links, status } = finding;
  return (
    <dl class="finding-parts">
      {parts.map(([key, text]) => (
        <div>
          <dt>{key === "evidence" ? PART_NAMES[key] : <Explained term={key}>{PART_NAMES[key]}</Explained>}</dt>
          <dd>
            <Said text={text} report={report} />
          </dd>
        </div>
      ))}
      <div>
        <dt>Known by</dt>
        <dd>
          <Explained doc={STATUS_WORDS[status]}>{status}</Explained>
        </dd>
      </div>
      {links.length > 0 && (
        <div>
          <dt>Look at</dt>
          <dd>{report === undefined ? <Commands links={links} /> : <Links links={links} />}</dd>
        </div>
      )}
    </dl>
  );
}

/** What removing the cause could give at most: a number, and the share of the time that would go. */
export function Gain({ speedup }: { readonly speedup: number | null | undefined }) {
  const saved = savedShare(speedup);
  if (saved === null || speedup === null || speedup === undefined) return null;
  const words = `${formatShare(saved)} of the time could be saved at most`;
  return (
    <span class="gain" data-tip={words}>
      <span class="gain-track" aria-hidden="true">
        <span class="gain-bar" style={{ width: `${Math.max(0, Math.min(1, saved)) * 100}%` }} />
      </span>
      <span class="gain-text">{speedupText(speedup)}</span>
      <span class="visually-hidden">{` faster at most: ${words}`}</span>
    </span>
  );
}

/** Each link as a way there: it sets page, parameters and scope, and marks the row. */
export function Links({ links }: { readonly links: readonly Link[] }) {
  const analyses = useAnalyses().data?.analyses ?? NO_ANALYSES;
  return (
    <ul class="finding-links">
      {links.map((link, i) => (
        <li key={i}>
          <a class="way" href={hrefOf(linkRoute(link, analyses))} data-nav="link">
            {linkWords(link)}
          </a>
        </li>
      ))}
    </ul>
  );
}

/** In a file there is nothing to go to: the same questions as commands. */
function Commands({ links }: { readonly links: readonly Link[] }) {
  return (
    <ul class="finding-links">
      {links.map((link, i) => {
        const command = linkCommand(link);
        return (
          <li key={i}>
            {command === null ? linkWords(link) : <code>{command}</code>}
            {command !== null && (link.row ?? "") !== "" && ` (${link.row ?? ""})`}
          </li>
        );
      })}
    </ul>
  );
}

const SAID_MS = 1500;

export function CopyFinding({ finding }: { readonly finding: Finding }) {
  const [said, setSaid] = useState("");
  const copy = async (): Promise<void> => {
    setSaid((await copyText(findingText(finding))) ? "Copied" : "Not copied");
    setTimeout(() => setSaid(""), SAID_MS);
  };
  return (
    <button
      type="button"
      class="quiet copy"
      onClick={() => void copy()}
      data-tip="Copies the claim, its evidence, what to do and what would prove it wrong, as text"
    >
      <span aria-live="polite">{said === "" ? "Copy" : said}</span>
      <span class="visually-hidden">{` this finding: ${finding.claim}`}</span>
    </button>
  );
}

/** A sentence of a report; its names lead to what they name where there is something to lead to. */
export function Said({ text, report }: { readonly text: string; readonly report: Report | undefined }) {
  return report === undefined ? <Pieces pieces={pieces(text, null, new Map(), NO_ANALYSES)} /> : <Pointing text={text} report={report} />;
}

function Pointing({ text, report }: { readonly text: string; readonly report: Report }) {
  const analyses = useAnalyses().data?.analyses ?? NO_ANALYSES;
  const targets = useMemo(() => targetsOf(report), [report]);
  return <Pieces pieces={pieces(text, report, targets, analyses)} />;
}

function Pieces({ pieces: all }: { readonly pieces: readonly Piece[] }) {
  return (
    <>
      {all.map((piece, i) => {
        const words = piece.code ? <code>{piece.text}</code> : piece.text;
        return piece.to === undefined ? (
          <span key={i}>{words}</span>
        ) : (
          <a key={i} href={hrefOf(piece.to)} data-nav="evidence" data-tip={piece.does}>
            {words}
          </a>
        );
      })}
    </>
  );
}
