/** The page of `haloscope report`: the answers that were taken along, one under the other. */

import { useState } from "preact/hooks";

import { tableOf, valueNumber } from "../api/read";
import type { Finding, Report } from "../api/types";
import { setTheme, shownTheme } from "../state/theme";
import { RooflineChart } from "../tools/roofline/Chart";
import { roofPoints } from "../tools/roofline/geometry";
import { stepPoints } from "../tools/steps/points";
import { StepChart } from "../widgets/chart/StepChart";
import { DamageBanner, Headline } from "../widgets/Headline";
import { Panel } from "../widgets/Panel";
import { FindingCard } from "../widgets/Finding";
import { ProvenanceFoot, QualityList, ScopeNote, ValueCards } from "../widgets/Report";
import type { Answer, ReportData } from "./data";
import { MiniTimeline } from "./MiniTimeline";
import { Rows } from "./Rows";

/** Tables that stand open; the others are behind a click. */
const OPEN = 2;

export function ReportPage({ data }: { readonly data: ReportData }) {
  const answers = data.parts.flatMap(({ id, label: title }) => {
    const answer = data.reports[id];
    return answer === undefined ? [] : [{ id, title, answer }];
  });
  const overview = data.reports["overview"]?.report ?? answers.find(({ answer }) => answer.report !== undefined)?.answer.report ?? null;
  const diagnosis = data.reports["diagnose"]?.report ?? null;
  return (
    <>
      <header class="report-head">
        <div>
          <h1>{data.run}</h1>
          <p class="question">{`${data.hosts.length === 1 ? "host" : "hosts"} ${data.hosts.join(", ")} · written by Haloscope ${data.version}`}</p>
        </div>
        <button type="button" class="quiet" onClick={() => setTheme(shownTheme.value === "dark" ? "light" : "dark")}>
          {shownTheme.value === "dark" ? "Light" : "Dark"}
        </button>
      </header>
      <nav class="report-nav" aria-label="Parts of this report">
        <a href="#findings">Findings</a>
        {data.timeline !== null && <a href="#timeline">Timeline</a>}
        {answers.map(({ id, title }) => (
          <a href={`#${id}`}>{title}</a>
        ))}
      </nav>
      <main>
        {overview !== null && <DamageBanner report={overview} />}
        {diagnosis !== null && <Headline report={diagnosis} />}
        <FindingsPart answers={answers} />
        {data.timeline !== null && (
          <section id="timeline" aria-labelledby="timeline-h">
            <h2 id="timeline-h">Timeline</h2>
            <MiniTimeline data={data.timeline} />
          </section>
        )}
        {answers.map(({ id, title, answer }) => (
          <Part key={id} id={id} title={title} answer={answer} data={data} />
        ))}
        {overview !== null && <ProvenanceFoot report={overview} />}
      </main>
    </>
  );
}

function FindingsPart({ answers }: { readonly answers: readonly { readonly answer: Answer }[] }) {
  // Two analyses may come to the same finding.
  const found = new Map<string, Finding>();
  for (const finding of answers.flatMap(({ answer }) => answer.report?.findings ?? [])) {
    if (!found.has(finding.claim)) found.set(finding.claim, finding);
  }
  return (
    <section id="findings" aria-labelledby="findings-h">
      <h2 id="findings-h">Findings</h2>
      {found.size === 0 ? (
        <p class="empty">No analysis found anything to act on.</p>
      ) : (
        [...found.values()].map((finding, i) => <FindingCard key={finding.claim} finding={finding} lead={i === 0} />)
      )}
    </section>
  );
}

interface PartProps {
  readonly id: string;
  readonly title: string;
  readonly answer: Answer;
  readonly data: ReportData;
}

function Part({ id, title, answer, data }: PartProps) {
  const { report } = answer;
  const tables = (report?.tables ?? []).filter((table) => table.rows.length > 0);
  const rows = (from: number, to?: number) =>
    tables.slice(from, to).map((table) => <Rows key={table.id} table={table} inAll={data.rows_in_all[`${id}/${table.id}`]} />);
  return (
    <section id={id} aria-labelledby={`${id}-h`}>
      <h2 id={`${id}-h`}>{title}</h2>
      <p class="question">{answer.question}</p>
      {report === undefined ? (
        <p class="empty">{answer.error ?? "No answer."}</p>
      ) : (
        <>
          <ScopeNote report={report} />
          <ValueCards report={report} />
          {id === "steps" && (
            <Panel title="Step times">
              <StepChart points={stepPoints(report)} />
            </Panel>
          )}
          {id === "roofline" && <Roof report={report} />}
          {rows(0, OPEN)}
          {tables.length > OPEN && (
            <details class="more-tables">
              <summary>{tables.length - OPEN === 1 ? "1 more table" : `${tables.length - OPEN} more tables`}</summary>
              {rows(OPEN)}
            </details>
          )}
          {report.quality.length > 0 && <QualityList quality={report.quality} />}
        </>
      )}
    </section>
  );
}

function Roof({ report }: { readonly report: Report }) {
  const [hovered, setHovered] = useState<number | null>(null);
  const [selected, setSelected] = useState<number | null>(null);
  const plotted = report.tables.filter((table) => roofPoints(table, []).length > 0);
  const table = plotted.find((one) => one.id === "ops") ?? plotted[0] ?? tableOf(report, "ops");
  if (table === null || table === undefined) return null;
  const roof = {
    peakFlopRate: valueNumber(report, "peak_flop_rate", "peak_flops"),
    peakByteRate: valueNumber(report, "peak_hbm_rate", "peak_hbm_bandwidth"),
  };
  return (
    <Panel title="Roofline" note={`${table.title || table.id}; point area is self time`}>
      <RooflineChart
        table={table}
        roof={roof}
        groupBy={["bound_by", "bound"]}
        groupName="bound by"
        selected={selected}
        hovered={hovered}
        onSelect={setSelected}
        onHover={setHovered}
      />
    </Panel>
  );
}
