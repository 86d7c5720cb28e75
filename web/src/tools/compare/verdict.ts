/** The verdict on the step time, in plain words. Pure. */

import { columnIndex, textAt, valueNumber } from "../../api/read";
import type { Finding, Report, Table } from "../../api/types";
import { formatDuration, formatInt, formatShare } from "../../base/format";
import type { ToneName } from "../../widgets/tone";
import { durationChange, shareChange } from "./quantity";

export interface Verdict {
  /** faster, slower, unchanged (shown to be the same), undecided, not comparable; unknown where the report has none. */
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

/** The word that people read: what is unchanged was shown to be the same. */
export function shownWord(word: string | null): string | null {
  return word === "unchanged" ? "the same" : word;
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
  const said =
    word === "not comparable"
      ? []
      : [rests(report), decides(word, report), interval(report), usual(report), noise(report), tests(report), matched(report)];
  return { word, tone: toneOfVerdict(word), headline: headline(word, delta, by, report), said: said.filter((one) => one !== "") };
}

function headline(word: string, delta: number | null, by: string, report: Report): string {
  // A mean that a slow step carries may go the other way than what the verdict rests on.
  const against = (delta ?? 0) !== 0 && (delta ?? 0) > 0 !== (word === "slower");
  switch (word) {
    case "faster":
      return against ? "The experiment is faster, although its mean is not." : `The experiment is faster: a step takes ${by} less.`;
    case "slower":
      return against ? "The experiment is slower, although its mean is not." : `The experiment is slower: a step takes ${by} more.`;
    case "unchanged": {
      const margin = valueNumber(report, "margin_share");
      const within = margin === null ? "" : ` within ${formatShare(margin)} of a step`;
      return delta === null || delta === 0
        ? "The step time is the same."
        : `The step time is the same${within}: it takes ${by} ${delta > 0 ? "more" : "less"}.`;
    }
    case "undecided": {
      const few =
        Math.min(valueNumber(report, "baseline_steps") ?? LEAST_STEPS, valueNumber(report, "experiment_steps") ?? LEAST_STEPS) <
        LEAST_STEPS;
      const why = few ? "there are too few steps" : "it is neither shown to differ nor to be the same";
      return delta === null || delta === 0
        ? `Undecided: ${why}.`
        : `Undecided: the step takes ${by} ${delta > 0 ? "more" : "less"}, but ${why}.`;
    }
    case "not comparable":
      return "These runs are not comparable: they differ in something that the step time depends on.";
    default:
      return delta === null ? "The change of the step time is unknown." : `A step takes ${by} ${delta > 0 ? "more" : "less"}.`;
  }
}

/** Fewer steps than this say nothing of their noise. */
const LEAST_STEPS = 3;

const WAYS: Readonly<Record<string, string>> = {
  mean: "the mean of all steps",
  "usual steps": "the usual steps",
  "a few steps": "a few slow steps",
  "from a step on": "a level that begins within a run",
};

function rests(report: Report): string {
  const by = report.values["verdict_by"]?.value;
  if (typeof by !== "string" || by === "") return "";
  const ways = by.split(", ").map((way) => WAYS[way] ?? way);
  return `Evidence: ${ways.join(", ")}.`;
}

function decides(word: string, report: Report): string {
  if (word !== "undecided") return "";
  const margin = valueNumber(report, "margin_share");
  const [low, high, steps] = [
    valueNumber(report, "same_low_ps"),
    valueNumber(report, "same_high_ps"),
    valueNumber(report, "steps_to_decide"),
  ];
  const straddles =
    margin === null || low === null || high === null
      ? ""
      : `The interval ${durationChange(low)} to ${durationChange(high)} is not within ${formatShare(margin)} of a step.`;
  const more = steps === null ? "" : `About ${formatInt(steps)} steps of each run would decide it.`;
  return [straddles, more].filter((one) => one !== "").join(" ");
}

function usual(report: Report): string {
  const [delta, low, high] = [
    valueNumber(report, "usual_delta_ps"),
    valueNumber(report, "usual_delta_low_ps"),
    valueNumber(report, "usual_delta_high_ps"),
  ];
  if (delta === null || low === null || high === null) return "";
  return `The usual steps, whatever a few slow ones do: ${durationChange(delta)}, between ${durationChange(low)} and ${durationChange(high)}.`;
}

function interval(report: Report): string {
  const low = valueNumber(report, "step_delta_low_ps");
  const high = valueNumber(report, "step_delta_high_ps");
  if (low === null || high === null) return "";
  return `With 95% confidence, the difference is between ${durationChange(low)} and ${durationChange(high)}.`;
}

function noise(report: Report): string {
  const floor = valueNumber(report, "noise_floor_ps");
  const share = valueNumber(report, "noise_floor_share");
  const [was, is] = [valueNumber(report, "baseline_steps"), valueNumber(report, "experiment_steps")];
  const steps =
    was === null || is === null ? "these steps" : `${formatInt(was)} steps of the baseline and ${formatInt(is)} of the experiment`;
  if (floor === null)
    return was === null || is === null ? "" : `The noise floor is unknown: ${steps} are too few to know how much the steps vary.`;
  const of = share === null ? "" : ` (${formatShare(share)} of the step)`;
  return `Noise floor: with ${steps}, a difference below ${formatDuration(floor)}${of} cannot be distinguished from noise.`;
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
  return share === null ? "" : `${formatShare(share)} of the baseline's op time was matched in the experiment.`;
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
