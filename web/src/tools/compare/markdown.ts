/** The comparison as Markdown, for an issue or a change. Pure. */

import { cellText, columnIndex, numberAt, tableOf, textAt } from "../../api/read";
import type { Report, Table } from "../../api/types";
import { durationChange, shareChange } from "./quantity";
import { breaking, verdictOf } from "./verdict";
import { kindName } from "./waterfall";

/** Bars would end a cell, line breaks the row. */
function cell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll(/\s*\n\s*/g, " ");
}

function rows(head: readonly string[], body: readonly (readonly string[])[]): string[] {
  const line = (cells: readonly string[]): string => `| ${cells.map(cell).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...body.map(line)];
}

/** Ops named in a text to take along. */
const MOST_OPS = 10;

export function markdown(report: Report, baseline: string, experiment: string): string {
  const verdict = verdictOf(report);
  const parts: string[][] = [
    [`**${verdict.headline}**`],
    [`Baseline: \`${baseline}\`, experiment: \`${experiment}\``],
    verdict.said.map((one) => `- ${one}`),
    factLines(report),
    metricLines(report),
    waterfallLines(report),
    opLines(report),
  ];
  return `${parts
    .filter((part) => part.length > 0)
    .map((part) => part.join("\n"))
    .join("\n\n")}\n`;
}

function texts(table: Table, ids: readonly string[]): string[][] {
  const at = ids.map((id) => columnIndex(table, id));
  return table.rows.map((row) => at.map((index) => cellText(table.columns, row, index)));
}

function factLines(report: Report): string[] {
  const facts = breaking(tableOf(report, "facts"));
  return facts === null || facts.rows.length === 0
    ? []
    : rows(["Differs", "Baseline", "Experiment"], texts(facts, ["what", "baseline", "experiment"]));
}

function metricLines(report: Report): string[] {
  const metrics = tableOf(report, "metrics");
  return metrics === null || metrics.rows.length === 0
    ? []
    : rows(["Metric", "Baseline", "Experiment", "Delta"], texts(metrics, ["metric", "baseline", "experiment", "delta"]));
}

function waterfallLines(report: Report): string[] {
  const table = tableOf(report, "waterfall");
  if (table === null || table.rows.length === 0) return [];
  const [kind, delta, share] = ["kind", "delta_ps", "share"].map((id) => columnIndex(table, id)) as [number, number, number];
  const body = table.rows.flatMap((row) => {
    const ps = numberAt(row, delta);
    const of = numberAt(row, share);
    return ps === null ? [] : [[kindName(textAt(row, kind) ?? ""), durationChange(ps), of === null ? "" : shareChange(of)]];
  });
  return rows(["Where the change comes from", "Per step", "Share"], body);
}

function opLines(report: Report): string[] {
  const table = tableOf(report, "ops");
  if (table === null) return [];
  const [op, was, change, delta] = ["op", "was", "change", "delta_ps"].map((id) => columnIndex(table, id)) as [
    number,
    number,
    number,
    number,
  ];
  // What is undecided is no change.
  const changed = table.rows.filter((row) => !["unchanged", "undecided"].includes(textAt(row, change) ?? ""));
  if (changed.length === 0) return [];
  const body = changed.slice(0, MOST_OPS).map((row) => {
    const ps = numberAt(row, delta);
    return [`\`${textAt(row, op) || textAt(row, was) || ""}\``, textAt(row, change) ?? "", ps === null ? "unknown" : durationChange(ps)];
  });
  const left = changed.length - body.length;
  return [...rows(["Op", "Change", "Per step"], body), ...(left > 0 ? ["", `${left} more ops changed.`] : [])];
}
