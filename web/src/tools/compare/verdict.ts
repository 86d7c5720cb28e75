/** The verdict on the step time, in plain words. Pure. */

import { columnIndex, textAt, valueNumber } from "../../api/read";
import type { Finding, Report, Table } from "../../api/types";
import { formatDuration, formatInt, formatShare } from "../../base/format";
import type { ToneName } from "../../widgets/tone";
import { durationChange, shareChange } from "./quantity";

export interface Verdict {
  /** faster, slower, unchanged, undecided, not comparable; unknown where the report has none. */
  readonly word: string;
  readonly tone: ToneName;
  readonly headline: string;
  /** The interval, the noise floor, the tests: a sentence each. */
  readonly said: readonly string[];
}

const TONES: Readonly<Record<string, ToneName>> = {
  faster: "good",
  slower: "bad",
  unchanged: "plain",
  undecided: "unknown",
  "not comparable": "warn",
};

export function toneOfVerdict(word: string): ToneName {
  return TONES[word] ?? "unknown";
}

export interface Means {
  readonly baseline: number;
  readonly experiment: number;
}

/** Mean step times of both runs, picoseconds; null where one is unknown. */
export function meansOf(report: Report): Means | null {
  const baseline = valueNumber(report, "baseline_step_ps");
  const experiment = valueNumber(report, "experiment_step_ps");
  return baseline === null || experiment === null ? null : { baseline, experiment };
}

/** The finding that the verdict is, with what would refute it. */
export function stepFinding(report: Report): Finding | null {
  return report.findings.find((finding) => finding.id === "step_time") ?? null;
}

/** Findings that the page shows otherwise: the verdict itself and the facts that break it. */
const ABOVE = new Set(["step_time", "not_comparable"]);

/** The other findings. What they rest on is on this page: of links to other pages nobody could tell which run they mean. */
export function otherFindings(report: Report): Finding[] {
  return report.findings
    .filter((finding) => !ABOVE.has(finding.id))
    .map((finding) => ({ ...finding, links: (finding.links ?? []).filter((link) => link.analysis === report.analysis) }));
}

function wordOf(report: Report): string {
  const word = report.values["verdict"]?.value;
  return typeof word === "string" && word !== "" ? word.replaceAll("_", " ") : "unknown";
}

/** Whether the runs differ in what makes them comparable, and nobody asked to go on anyway. */
export function isNotComparable(report: Report): boolean {
  return wordOf(report) === "not comparable";
}

export function verdictOf(report: Report): Verdict {
  const word = wordOf(report);
  const delta = valueNumber(report, "step_delta_ps");
  const share = valueNumber(report, "step_delta_share");
  const by = delta === null ? "" : `${formatDuration(Math.abs(delta))}${share === null ? "" : ` (${shareChange(share)})`}`;
  const said = word === "not comparable" ? [] : [interval(report), noise(report), tests(report), matched(report)];
  return { word, tone: toneOfVerdict(word), headline: headline(word, delta, by), said: said.filter((one) => one !== "") };
}

function headline(word: string, delta: number | null, by: string): string {
  switch (word) {
    case "faster":
      return `The experiment is faster: a step takes ${by} less.`;
    case "slower":
      return `The experiment is slower: a step takes ${by} more.`;
    case "unchanged":
      return delta === null || delta === 0
        ? "The step time is unchanged."
        : `The step time is unchanged: ${by} ${delta > 0 ? "more" : "less"} is no more than noise.`;
    case "undecided":
      return delta === null || delta === 0
        ? "Nobody can tell: there are too few steps."
        : `Nobody can tell: the step takes ${by} ${delta > 0 ? "more" : "less"}, but there are too few steps to say that this is no noise.`;
    case "not comparable":
      return "These runs are not comparable: they differ in what a step's time depends on.";
    default:
      return delta === null ? "The change of the step time is unknown." : `A step takes ${by} ${delta > 0 ? "more" : "less"}.`;
  }
}

function interval(report: Report): string {
  const low = valueNumber(report, "step_delta_low_ps");
  const high = valueNumber(report, "step_delta_high_ps");
  if (low === null || high === null) return "";
  return `With 95% confidence the difference lies between ${durationChange(low)} and ${durationChange(high)}.`;
}

function noise(report: Report): string {
  const floor = valueNumber(report, "noise_floor_ps");
  const share = valueNumber(report, "noise_floor_share");
  const [was, is] = [valueNumber(report, "baseline_steps"), valueNumber(report, "experiment_steps")];
  const steps =
    was === null || is === null ? "these steps" : `${formatInt(was)} steps of the baseline and ${formatInt(is)} of the experiment`;
  if (floor === null) return was === null || is === null ? "" : `The noise floor is unknown: ${steps} do not tell how much the steps vary.`;
  const of = share === null ? "" : ` (${formatShare(share)} of the step)`;
  return `Noise floor: with ${steps}, a difference below ${formatDuration(floor)}${of} could not be told from noise.`;
}

function tests(report: Report): string {
  const [mean, rank] = [valueNumber(report, "step_delta_p"), valueNumber(report, "step_delta_rank_p")];
  const parts = [
    ...(mean === null ? [] : [`${probability(mean)} by the means`]),
    ...(rank === null ? [] : [`${probability(rank)} by the ranks`]),
  ];
  return parts.length === 0 ? "" : `The probability that noise alone gives such a difference: ${parts.join(", ")}.`;
}

function matched(report: Report): string {
  const share = valueNumber(report, "matched_share");
  return share === null ? "" : `${formatShare(share)} of the baseline's op time was found again in the experiment.`;
}

/** Small probabilities are not worth their digits. */
export function probability(p: number): string {
  return p < 0.0001 ? "below 0.0001" : p < 0.1 ? p.toPrecision(2) : p.toFixed(2);
}

/** The facts in which the runs differ so that they are not comparable. */
export function breaking(facts: Table | null): Table | null {
  if (facts === null) return null;
  const [same, breaks] = [columnIndex(facts, "same"), columnIndex(facts, "breaks")];
  const rows = facts.rows.filter((row) => isYes(row[breaks] ?? null) && textAt(row, same) === "differs");
  return { ...facts, rows };
}

function isYes(cell: string | number | boolean | null): boolean {
  return cell === true || cell === "yes";
}
