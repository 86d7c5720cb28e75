import { useEffect, useState } from "preact/hooks";

import { tableOf } from "../../api/read";
import type { AnalysisInfo, Link, ParamInfo, Report, Table } from "../../api/types";
import { go, hrefOf, view } from "../../state/route";
import { useReport } from "../../state/resource";
import { runId } from "../../state/runs";
import "../../styles/compare.css";
import { Panel } from "../../widgets/Panel";
import { Findings, ProvenanceFoot, QualityList, ValueCards } from "../../widgets/Report";
import { Loaded } from "../../widgets/States";
import { TablePanel } from "../../widgets/table/TablePanel";
import { WordTable } from "../../widgets/table/WordTable";
import type { WordColumn } from "../../widgets/table/WordTable";
import { Tone } from "../../widgets/Tone";
import { MetricsPanel } from "../compare/MetricsPanel";
import { ChooseRun } from "../compare/ChooseRun";
import { PageHead } from "../PageHead";
import type { PageProps } from "../pages";
import { Params, paramQuery } from "../Params";
import { OUTCOMES, counts, outcomeOf, rowTone, wordsOf } from "./read";

/** What a document is, and how one begins. */
const DOCUMENTS: Readonly<Record<string, { readonly title: string; readonly example: string }>> = {
  budget: { title: "Budgets, as TOML", example: '[step_time]\nmax = "85ms"\nmax_increase = "1%"\n\n[idle_share]\nmax = 0.05' },
  wall: { title: "A benchmark's JSON", example: '{"wall_ms": 0.71, "baseline": {"wall_ms": 0.80}}' },
};

/** What asks something of the run; without any of these there is nothing to check. */
const ASKING = ["baseline", "budget", "claim", "wall", "expect"];
/** Terms that few change: they stand with the documents. */
const FINER = ["kernel", "tolerance", "confidence", "unknown", "force"];

/** Tables of what was asked, a verdict in each row. */
const ASKED = ["budgets", "claims", "wall", "wall_wins", "expected"];
const DRAWN = new Set([...ASKED, "metrics"]);

export function CheckPage({ info }: PageProps) {
  const documents = info.params.filter((param) => param.kind === "document");
  const asked = ASKING.some((id) => (view.value[id] ?? "") !== "");
  const finer = info.params.filter((param) => FINER.includes(param.id));
  return (
    <>
      <PageHead info={info}>
        <Params info={info} leave={[...documents.map((param) => param.id), ...FINER]} />
      </PageHead>
      {documents.length + finer.length > 0 && (
        <details class="more-params" open={!asked}>
          <summary>Budgets, a benchmark's times, and more options</summary>
          <div class="page-controls">
            <Params info={{ ...info, others: null, params: finer }} />
          </div>
          <div class="check-more">
            {documents.map((param) => (
              <DocumentPanel key={param.id} param={param} />
            ))}
          </div>
        </details>
      )}
      {!asked && (
        <ChooseRun
          what="Choose a baseline to compare this run with, or give budgets above"
          onChoose={(id) => go({ view: { baseline: id } })}
        />
      )}
      {asked && <Checked info={info} />}
    </>
  );
}

function DocumentPanel({ param }: { readonly param: ParamInfo }) {
  const asked = view.value[param.id] ?? "";
  const [text, setText] = useState(asked);
  useEffect(() => setText(asked), [asked]);
  const about = DOCUMENTS[param.id];
  return (
    <Panel title={about?.title ?? param.id.replaceAll("_", " ")} note={param.doc}>
      <form
        class="script"
        onSubmit={(event) => {
          event.preventDefault();
          go({ view: { [param.id]: text.trim() } });
        }}
      >
        <textarea
          rows={6}
          spellcheck={false}
          aria-label={about?.title ?? param.id}
          placeholder={about?.example ?? "the text of a file"}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <div class="script-buttons">
          <button type="submit" class={param.id === "budget" ? "primary" : ""}>
            Check
          </button>
          {asked !== "" && (
            <button type="button" class="quiet" onClick={() => go({ view: { [param.id]: "" } })}>
              Clear
            </button>
          )}
        </div>
      </form>
    </Panel>
  );
}

function Checked({ info }: { readonly info: AnalysisInfo }) {
  const report = useReport("check", paramQuery(info));
  return (
    <Loaded from={report} what="the run and its baseline">
      {(data) => <Result report={data} />}
    </Loaded>
  );
}

function Result({ report }: { readonly report: Report }) {
  const outcome = outcomeOf(report);
  const about = OUTCOMES[outcome];
  const said = counts(ASKED.map((id) => tableOf(report, id)));
  const baseline = view.value["baseline"] ?? "";
  return (
    <>
      <section class={`compare-verdict ${about.tone}`} aria-label="Outcome">
        <div class="compare-verdict-head">
          <Tone word={outcome} tone={about.tone} />
          <p class="compare-headline">{wordsOf(report)}</p>
          {baseline !== "" && (
            <a href={hrefOf({ run: baseline, page: "compare", view: { other: runId.value ?? "" } })} data-nav="compare">
              Compare both runs
            </a>
          )}
        </div>
        <p class="compare-said">{[said, about.exit].filter((one) => one !== "").join(" · ")}</p>
        {outcome === "not comparable" && (
          <div class="compare-differing">
            <button type="button" onClick={() => go({ view: { force: "yes" } })}>
              Compare anyway
            </button>
          </div>
        )}
      </section>
      {ASKED.map((id) => (
        <WordTable key={id} table={tableOf(report, id)} name="check" columns={columnsOf(tableOf(report, id))} />
      ))}
      <Findings report={{ ...report, findings: here(report) }} />
      <MetricsPanel report={report} name="check" />
      <ValueCards report={report} />
      {report.tables
        .filter((table) => !DRAWN.has(table.id) && table.rows.length > 0)
        .map((table) => (
          <TablePanel key={table.id} table={table} name="check" />
        ))}
      {report.quality.length > 0 && <QualityList quality={report.quality} />}
      <ProvenanceFoot report={report} />
    </>
  );
}

/** The findings, of which those that a comparison made lead to the same tables on this page. */
function here(report: Report): Report["findings"] {
  const own = (link: Link): Link => (link.analysis === "compare" ? { ...link, analysis: report.analysis } : link);
  return report.findings.map((finding) => ({ ...finding, links: (finding.links ?? []).map(own) }));
}

/** Every column; the verdict carries its sign, units stand in the cells. */
function columnsOf(table: Table | null): WordColumn[] {
  return (table?.columns ?? [])
    .filter((column) => column.id !== "unit")
    .map((column) => (column.id === "verdict" ? { id: column.id, tone: rowTone } : { id: column.id }));
}
