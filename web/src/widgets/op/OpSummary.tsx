/** The head of an op's card, the same on every page: how much time it takes a step and in all, how near it is to the limits, where
 * it comes from; and the ways to its graph, its longest execution, its memory and its line. */

import type { ComponentChildren } from "preact";

import { columnIndex, tableOf, textAt } from "../../api/read";
import type { Table } from "../../api/types";
import type { Hit } from "../../api/timeline";
import { getEvent, getSearch, getSteps } from "../../api/timeline";
import { UNKNOWN, formatCell, formatDuration, formatShare } from "../../base/format";
import { hrefOf, page, scope } from "../../state/route";
import { useReport, useResource } from "../../state/resource";
import { runId, runs } from "../../state/runs";
import { formatWindow } from "../../state/url";
import { Explained } from "../Explained";
import type { OpName } from "./card";
import { LIMITS, bareModule, factsOf, leadsOf, rowsOfOp, timeOnDevice, usualStep } from "./card";

/** Seen on both sides of the longest execution, in lengths of it. */
const AROUND = 2;

export interface OpSummaryProps {
  readonly op: OpName;
  /** Stands in where no device ran an op of this name, or until that is known. */
  readonly otherwise?: ComponentChildren;
}

export function OpSummary({ op, otherwise = null }: OpSummaryProps) {
  const report = useReport("ops");
  const table = tableOf(report.data, "ops");
  if (table === null) return <>{otherwise}</>;
  const rows = rowsOfOp(table, op);
  const row = rows[0] === undefined ? undefined : table.rows[rows[0]];
  if (row === undefined) return <>{otherwise}</>;
  const found = { name: op.name, module: textAt(row, columnIndex(table, "module")) ?? "" };
  return (
    <div class="op-card">
      <p class="leads">
        {leadsOf(table, row, page.value, (runs.value?.runs.length ?? 0) > 1).map((lead) => (
          <a key={lead.label} href={hrefOf(lead.to)} data-nav={lead.to.page} data-tip={lead.what}>
            {lead.label}
          </a>
        ))}
        <Longest op={found} />
      </p>
      {op.where !== undefined && <p class="sub">{op.where}</p>}
      {rows.length > 1 && <p class="sub">{`Ops of ${rows.length} programs have this name; this is the one with the most time.`}</p>}
      <dl class="pairs">
        <TimeAStep op={found} />
        {factsOf(table, row).map(({ label, column, cell }) => (
          <div key={label}>
            <dt>
              <Explained unit={column.unit} id={column.id} doc={column.doc} of={column}>
                {label}
              </Explained>
            </dt>
            <dd class={cell === null ? "unknown" : ""}>{formatCell(cell, column.kind, column.unit)}</dd>
          </div>
        ))}
      </dl>
      <Limits table={table} row={row} />
    </div>
  );
}

/** How near the op is to what the device can do: the two walls of the roofline. */
function Limits({ table, row }: { readonly table: Table; readonly row: Table["rows"][number] }) {
  return (
    <div class="op-limits">
      {LIMITS.map(([id, label]) => {
        const cell = row[columnIndex(table, id)] ?? null;
        const share = typeof cell === "number" ? cell : null;
        return (
          <div key={id}>
            <span>{label}</span>
            <span class="op-limit" aria-hidden="true">
              {share !== null && <span style={{ width: `${Math.min(100, share * 100)}%` }} />}
            </span>
            <span class={share === null ? "unknown" : ""}>{share === null ? UNKNOWN : formatShare(share)}</span>
          </div>
        );
      })}
    </div>
  );
}

/** The op's time in the usual step, on one device. Where the scope is some steps or a time already, there is no usual one. */
function TimeAStep({ op }: { readonly op: OpName }) {
  const run = runId.value;
  const scoped = scope.value.steps !== "" || scope.value.window !== "";
  const key = run === null || scoped ? null : `timeline steps ${run}`;
  const steps = useResource(key, `timeline steps ${run}`, (signal) => getSteps(run ?? "", signal));
  const usual = usualStep(steps.data?.steps ?? []);
  if (usual === null) return scoped || steps.loading ? null : <Step text={UNKNOWN} step={null} />;
  return <InStep op={op} step={usual.number} />;
}

function InStep({ op, step }: { readonly op: OpName; readonly step: number }) {
  const report = useReport("ops", [["steps", String(step)]]);
  if (report.data === null && report.loading) return <Step text="…" step={step} />;
  const table = tableOf(report.data, "ops");
  const at = table === null ? undefined : rowsOfOp(table, op)[0];
  const time = table === null || at === undefined ? null : timeOnDevice(table, table.rows[at]);
  return <Step text={time === null ? UNKNOWN : formatDuration(time)} step={step} />;
}

function Step({ text, step }: { readonly text: string; readonly step: number | null }) {
  const doc =
    "Self time in one step, on one of the devices that ran it: in the median steady step." +
    (step === null ? "\nNo step of this run is known to be steady." : `\nHere step ${step}.`);
  return (
    <div>
      <dt>
        <Explained doc={doc}>Time per step</Explained>
      </dt>
      <dd class={text === UNKNOWN ? "unknown" : ""}>{text}</dd>
    </div>
  );
}

/** The op's longest execution on the timeline; without one that is surely its own, a search for its name there. */
function Longest({ op }: { readonly op: OpName }) {
  const run = runId.value ?? "";
  const name = `longest ${run} ${op.name} ${op.module}`;
  const longest = useResource<Hit | null>(name, name, (signal) => longestOf(run, op, signal));
  const hit = longest.data;
  const to =
    hit === null
      ? { page: "timeline", view: { q: op.name } }
      : {
          page: "timeline",
          view: {
            ev: `${hit.track},${hit.event}`,
            at: formatWindow(hit.start_ps - AROUND * hit.duration_ps, hit.start_ps + (1 + AROUND) * hit.duration_ps),
          },
        };
  const tip = hit === null ? "A search for it on the timeline" : `Its longest execution, ${formatDuration(hit.duration_ps)}`;
  return (
    <a href={hrefOf(to)} data-nav="timeline" data-tip={tip}>
      Timeline
    </a>
  );
}

async function longestOf(run: string, op: OpName, signal: AbortSignal): Promise<Hit | null> {
  const query: [string, string][] = [
    ["q", op.name],
    ["exact", "1"],
    ["limit", "1"],
  ];
  const { longest } = await getSearch(run, query, signal);
  if (longest === null || op.module === "") return longest;
  // Programs share names: what is shown must be of this one.
  const { module = null } = await getEvent(run, longest.track, longest.event, signal);
  return module !== null && bareModule(module) !== bareModule(op.module) ? null : longest;
}
