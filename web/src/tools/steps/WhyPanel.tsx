/** A step against the usual one: how much longer, which classes of time, and which ops made it so. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import type { Report } from "../../api/types";
import { formatDuration, formatInt, formatShare } from "../../base/format";
import { hrefOf } from "../../state/route";
import { useReport } from "../../state/resource";
import { formatWindow } from "../../state/url";
import { TableExport } from "../../widgets/Export";
import { Panel } from "../../widgets/Panel";
import { RowDetails } from "../../widgets/RowDetails";
import { Loaded } from "../../widgets/States";
import { DataTable } from "../../widgets/table/DataTable";
import type { ClassChange, OpChange, StepLength } from "./why";
import { changesTable, classChanges, growth, isAlike, opChanges, spreadOf, stepOf, usualOf } from "./why";

/** Ops that grew and that shrank, each. */
const MOST = 15;

/** `report` is of steps, with the usual one among them. Draws nothing where there is no other steady step to hold this one against. */
export function WhyPanel({ report, number }: { readonly report: Report; readonly number: number }) {
  const [step, usual] = [stepOf(report, number), usualOf(report, number)];
  if (step === null || usual === null) return null;
  return <Why key={`${step.number} ${usual.number}`} report={report} step={step} usual={usual} />;
}

interface WhyProps {
  readonly report: Report;
  readonly step: StepLength;
  readonly usual: StepLength;
}

function Why({ report, step, usual }: WhyProps) {
  const own = useReport("ops", [["steps", String(step.number)]]);
  const other = useReport("ops", [["steps", String(usual.number)]]);
  const classes = useMemo(() => classChanges(report, step.number, usual.number), [report, step, usual]);
  const more = step.ps - usual.ps;
  const box = useRef<HTMLParagraphElement>(null);
  // It stands below what was clicked: on a low window beyond its edge.
  useEffect(() => box.current?.scrollIntoView({ block: "nearest" }), []);
  const to = { page: "timeline", view: { at: formatWindow(...spanOf(report, step)) } };
  return (
    <Panel
      title={`Why step ${step.number}`}
      class="step-why"
      actions={
        <a href={hrefOf(to)} data-nav="timeline">
          On the timeline
        </a>
      }
    >
      <p class="step-why-said" ref={box}>
        {`Step ${step.number} took ${formatDuration(step.ps)}: `}
        <strong>
          {more === 0
            ? "as long as"
            : `${formatDuration(Math.abs(more))} (${formatShare(Math.abs(more) / usual.ps)}) ${more > 0 ? "longer" : "shorter"} than`}
        </strong>
        {` step ${usual.number}, the median steady step.`}
      </p>
      <Classes changes={classes} />
      <Loaded from={own} what="the ops of the step" aside>
        {(now) => (
          <Loaded from={other} what="the ops of the usual step" aside>
            {(then) => <Ops own={now} usual={then} step={step} of={usual} />}
          </Loaded>
        )}
      </Loaded>
    </Panel>
  );
}

function spanOf(report: Report, step: StepLength): [number, number] {
  const table = report.tables.find((one) => one.id === "steps");
  const at = (id: string): number => table?.columns.findIndex((column) => column.id === id) ?? -1;
  const row = table?.rows.find((one) => one[at("step")] === step.number);
  const start = Number(row?.[at("start_ps")] ?? 0);
  return [start, start + step.ps];
}

/** Classes that say what most of the difference is. */
const MOST_CLASSES = 4;

function Classes({ changes }: { readonly changes: readonly ClassChange[] }) {
  if (changes.length === 0) return null;
  return (
    <p class="step-why-classes">
      <span class="sub">On the slowest device of each</span>
      {changes.slice(0, MOST_CLASSES).map(({ of, ps }) => (
        <span class="chip" key={of.id}>
          <span class="swatch" style={{ backgroundColor: of.colour }} aria-hidden="true" />
          {`${of.name} ${ps > 0 ? "+" : "−"}${formatDuration(Math.abs(ps))}`}
        </span>
      ))}
    </p>
  );
}

interface OpsProps {
  readonly own: Report;
  readonly usual: Report;
  readonly step: StepLength;
  readonly of: StepLength;
}

function Ops({ own, usual, step, of }: OpsProps) {
  const ops = useMemo(() => opChanges(own, usual), [own, usual]);
  const table = useMemo(() => changesTable(ops, step.number, of.number, MOST), [ops, step, of]);
  const [selected, setSelected] = useState<number | null>(null);
  if (table.rows.length === 0) return <p class="sub">No op took a different time than in that step.</p>;
  const picked = selected !== null && selected < table.rows.length ? selected : null;
  return (
    <>
      <p class="step-why-ops">{said(ops)}</p>
      <div class={picked === null ? "split" : "split open"}>
        <Panel
          title={table.title}
          note={`self time on one device; ${formatInt(table.rows.length)} of ${formatInt(ops.length)} ops`}
          flush
          actions={<TableExport table={table} name="step-ops" />}
        >
          <DataTable table={table} selected={picked} onSelect={setSelected} />
        </Panel>
        {picked !== null && <RowDetails table={table} row={picked} onClose={() => setSelected(null)} />}
      </div>
    </>
  );
}

/** Which ops it were, in a sentence. */
function said(ops: readonly OpChange[]): string {
  const spread = spreadOf(ops);
  const times = (ratio: number): string => `${ratio.toFixed(2)}×`;
  if (spread !== null && isAlike(spread))
    return `Nearly all ops are ${spread.middle > 1 ? "slower" : "faster"} by a similar factor: half of the op time took between ${times(spread.low)} and ${times(spread.high)} of what it takes in the usual step. That points to the clock or to the memory of the device, not to single ops.`;
  const grown = ops.filter((op) => growth(op) > 0);
  const total = grown.reduce((sum, op) => sum + growth(op), 0);
  const [first] = grown;
  if (first === undefined) return "No op took longer than in the usual step.";
  let seen = 0;
  const half = grown.findIndex((op) => (seen += growth(op)) >= total / 2) + 1;
  const rest = half === 1 ? "alone is half of the extra op time" : `and ${formatInt(half - 1)} more are half of the extra op time`;
  return `${first.name} grew most, by ${formatDuration(growth(first))}; it ${rest} (${formatDuration(total)}).`;
}
