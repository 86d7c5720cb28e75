/** Names and commands in a finding's words as ways to what they name. Pure. */

import { columnIndex, textAt } from "../api/read";
import type { AnalysisInfo, Finding, Report } from "../api/types";
import type { RouteChange } from "../state/url";

export interface Piece {
  readonly text: string;
  readonly code: boolean;
  /** Where it leads; absent for plain words. */
  readonly to?: RouteChange;
  /** What going there does, in words. */
  readonly does?: string;
}

interface Target {
  readonly to: RouteChange;
  readonly does: string;
}

const RANK: Readonly<Record<string, number>> = { critical: 0, error: 1, warning: 2, info: 3 };

/** Worst first; among equals the report's own order. */
export function bySeverity(findings: readonly Finding[]): Finding[] {
  return [...findings].sort((a, b) => (RANK[a.severity] ?? 3) - (RANK[b.severity] ?? 3));
}

/** Rows of short tables whose first cell is a phrase, such as `compute-bound ops`. */
const MOST_PHRASES = 24;
/** Whose tables are lists of ids and common words: to link each of them would say nothing. */
const NO_PHRASES = new Set(["diagnose"]);

/** Names of rows that are also words of any sentence. */
const COMMON = new Set(["other", "unknown", "all", "total", "none", "same", "devices", "hosts", "host"]);

/** What the words of a report's findings may name. */
export function targetsOf(report: Report): Map<string, Target> {
  const targets = new Map<string, Target>();
  const add = (word: string | null, to: RouteChange, does: string): void => {
    if (word !== null && word.length > 2 && !COMMON.has(word) && !targets.has(word)) targets.set(word, { to, does });
  };
  for (const device of report.scope.devices ?? []) add(device, { scope: { devices: device } }, "Only this device");
  for (const host of report.provenance.hosts ?? []) add(host, { scope: { hosts: host } }, "Only this host");
  const program = report.values["program"]?.value;
  const module: Record<string, string> = typeof program === "string" ? { module: program } : {};
  for (const table of report.tables) {
    const op = table.id === "ops" || table.id === "top_ops" ? columnIndex(table, "name", "op") : -1;
    const instruction = columnIndex(table, "instruction", "copy");
    const first = !NO_PHRASES.has(report.analysis) && table.columns[0]?.kind === "text" && table.rows.length <= MOST_PHRASES;
    for (const row of table.rows) {
      // Of two runs nobody could tell which one's page of ops is meant.
      if (op >= 0 && report.analysis === "compare")
        add(textAt(row, op), { view: { mark: `${table.id}:${textAt(row, op) ?? ""}` } }, "Mark its row");
      else if (op >= 0) add(textAt(row, op), { page: "ops", view: { by: "", q: "", sel: textAt(row, op) ?? "" } }, "Its row among the ops");
      else if (instruction >= 0) {
        const name = textAt(row, instruction) ?? "";
        add(
          name,
          /^memory/.test(report.analysis)
            ? { page: "memory", view: { ...module, tab: "", buffer: name } }
            : { page: "hlo", view: { ...module, tab: "", node: name } },
          "Show it",
        );
      } else if (first) {
        const name = textAt(row, 0) ?? "";
        add(name, { view: { mark: `${table.id}:${name}` } }, "Mark its row");
      }
    }
  }
  return targets;
}

/** Options that every command has. */
const SCOPED = new Set(["hosts", "devices", "modules", "steps", "window"]);

/** The page that a command names: `ops --by category`. */
export function command(text: string, analyses: readonly AnalysisInfo[]): Target | null {
  const words = text.replace(/^haloscope /, "").split(/\s+/);
  const named = [words.slice(0, 2).join(" "), words[0] ?? ""];
  const info = analyses.find((one) => named.includes(one.name ?? one.id) || named.includes(one.id.replace("-", " ")));
  if (info === undefined) return text === "timeline" ? { to: { page: "timeline" }, does: "Go to the timeline" } : null;
  const view: Record<string, string> = {};
  const scope: Record<string, string> = {};
  words.forEach((word, i) => {
    const param = /^--([\w-]+)(?:=(.*))?$/.exec(word);
    if (param === null) return;
    const [id, value] = [param[1] ?? "", param[2] ?? words[i + 1] ?? ""];
    (SCOPED.has(id) ? scope : view)[id] = value;
  });
  return { to: { page: info.id, view, ...(Object.keys(scope).length === 0 ? {} : { scope }) }, does: `Go to ${info.name ?? info.id}` };
}

/** Instructions that no table of the report lists but that have a shape or a number to their name. */
function pattern(word: string, report: Report, next: string): Target | null {
  if (/^memory/.test(report.analysis) && (/^[a-z][\w-]*\.\d+$/.test(word) || /^ [a-z]+\d+\[/.test(next))) {
    const program = report.values["program"]?.value;
    const module: Record<string, string> = typeof program === "string" ? { module: program } : {};
    return { to: { page: "memory", view: { ...module, tab: "", buffer: word } }, does: "Show it among the buffers" };
  }
  return null;
}

const WORD = /[\w%][\w.:/%-]*[\w%]|\w/g;

/** The sentence in pieces, of which some lead on. */
export function pieces(
  text: string,
  report: Report | null,
  targets: ReadonlyMap<string, Target>,
  analyses: readonly AnalysisInfo[],
): Piece[] {
  const parts = text.split("`");
  // An odd number of backticks is no code at all.
  if (parts.length % 2 === 0) return [{ text, code: false }];
  return parts.flatMap((part, i): Piece[] => {
    if (part === "") return [];
    if (i % 2 === 1) {
      const target = command(part, analyses) ?? targets.get(part) ?? null;
      return [{ text: part, code: true, ...target }];
    }
    return report === null ? [{ text: part, code: false }] : plainPieces(part, report, targets);
  });
}

function plainPieces(text: string, report: Report, targets: ReadonlyMap<string, Target>): Piece[] {
  // Phrases of several words first: they are the rows of short tables.
  for (const [phrase, target] of targets) {
    const at = phrase.includes(" ") ? text.indexOf(phrase) : -1;
    if (at >= 0)
      return [
        ...plainPieces(text.slice(0, at), report, targets),
        { text: phrase, code: false, ...target },
        ...plainPieces(text.slice(at + phrase.length), report, targets),
      ];
  }
  const found: Piece[] = [];
  let from = 0;
  const plain = (to: number): void => {
    if (to > from) found.push({ text: text.slice(from, to), code: false });
  };
  const hits: { readonly at: number; readonly text: string; readonly target: Target }[] = [];
  for (const match of text.matchAll(WORD)) {
    const word = match[0];
    const target = targets.get(word) ?? pattern(word, report, text.slice(match.index + word.length));
    if (target !== null && !hits.some((hit) => match.index < hit.at + hit.text.length && hit.at < match.index + word.length))
      hits.push({ at: match.index, text: word, target });
  }
  for (const hit of hits.sort((a, b) => a.at - b.at)) {
    plain(hit.at);
    found.push({ text: hit.text, code: false, ...hit.target });
    from = hit.at + hit.text.length;
  }
  plain(text.length);
  return found;
}
