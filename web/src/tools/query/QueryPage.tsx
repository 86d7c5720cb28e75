import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { askSql, getSqlAbout } from "../../api/client";
import type { SqlAbout, SqlAnswer, Table } from "../../api/types";
import { seriesVar } from "../../base/colour";
import { formatInt } from "../../base/format";
import { useResource } from "../../state/resource";
import { go, view } from "../../state/route";
import { runId } from "../../state/runs";
import "../../styles/query.css";
import { Bars } from "../../widgets/chart/Bars";
import { LineChart } from "../../widgets/chart/LineChart";
import { TableExport } from "../../widgets/Export";
import { Panel } from "../../widgets/Panel";
import { RowDetails } from "../../widgets/RowDetails";
import { Empty, ErrorBox, Loaded } from "../../widgets/States";
import { DataTable } from "../../widgets/table/DataTable";
import { Tabs } from "../../widgets/Tabs";
import { PageHead } from "../PageHead";
import type { PageProps } from "../pages";
import { inserted, tableOfAnswer } from "./answer";
import type { Chart } from "./chart";
import { barsOf, chartOf, seriesOf } from "./chart";

/** Asked where nothing is: it is quick, and names what most are after. */
const FIRST =
  "SELECT kind, name, count(*) AS events, sum(dur_ps) AS dur_ps\nFROM event\nGROUP BY kind, name\nORDER BY dur_ps DESC, kind, name\nLIMIT 50";

/** A longer statement is not kept in the address. */
const LONGEST_ADDRESS = 4000;

export function QueryPage({ info }: PageProps) {
  const about = useResource("/api/query", "what SQL can ask", getSqlAbout);
  return (
    <>
      <PageHead info={info} />
      <Loaded from={about} what="what SQL can ask">
        {(data) => <Query about={data} />}
      </Loaded>
    </>
  );
}

interface Asked {
  readonly sql: string;
  readonly run: string;
}

function Query({ about }: { readonly about: SqlAbout }) {
  const [text, setText] = useState(() => view.value["sql"] ?? FIRST);
  const editor = useRef<HTMLTextAreaElement>(null);
  const { answer, error, busy, seconds, ask, stop } = useAnswer();
  const run = runId.value;
  const start = (sql: string): void => {
    if (run === null || sql.trim() === "") return;
    if (sql.length <= LONGEST_ADDRESS) go({ view: { sql } }, "replace");
    ask({ sql, run });
  };
  const put = (name: string): void => {
    const from = editor.current?.selectionStart ?? text.length;
    const to = editor.current?.selectionEnd ?? text.length;
    const [next, cursor] = inserted(text, from, to, name);
    setText(next);
    requestAnimationFrame(() => {
      editor.current?.focus();
      editor.current?.setSelectionRange(cursor, cursor);
    });
  };
  return (
    <div class="query-page">
      <div class="query-main">
        <Panel
          title="SQL"
          note="Ctrl + Enter runs it; only this run is read"
          actions={
            <>
              <select
                aria-label="Canned questions"
                value=""
                onChange={(event) => {
                  const canned = about.questions.find((one) => one.name === event.currentTarget.value);
                  event.currentTarget.value = "";
                  if (canned === undefined) return;
                  setText(canned.sql);
                  start(canned.sql);
                }}
              >
                <option value="">Canned questions</option>
                {about.questions.map((one) => (
                  <option key={one.name} value={one.name} title={one.question}>
                    {one.name}
                  </option>
                ))}
              </select>
              {busy ? (
                <button type="button" onClick={stop}>
                  Stop
                </button>
              ) : (
                <button type="button" onClick={() => start(text)} disabled={run === null}>
                  Ask
                </button>
              )}
            </>
          }
        >
          <textarea
            ref={editor}
            class="query-text"
            aria-label="SQL"
            rows={9}
            spellcheck={false}
            autocomplete="off"
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
              event.preventDefault();
              start(text);
            }}
          />
        </Panel>
        {busy && (
          <p class="sub" role="status">
            The query runs…
          </p>
        )}
        {error !== null && <ErrorBox error={error} />}
        {answer !== null && error === null && <Rows answer={answer} seconds={seconds} />}
      </div>
      <Schema about={about} onPick={put} />
    </div>
  );
}

/** The answer to what was asked last: who asks again, leaves or takes another run wants no former one. */
function useAnswer() {
  const [answer, setAnswer] = useState<SqlAnswer | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const [seconds, setSeconds] = useState(0);
  const running = useRef<AbortController | null>(null);
  const stop = (): void => {
    running.current?.abort();
    running.current = null;
    setBusy(false);
  };
  const ask = ({ sql, run }: Asked): void => {
    stop();
    const own = new AbortController();
    running.current = own;
    const begun = performance.now();
    setBusy(true);
    setError(null);
    askSql({ sql, runs: [run] }, own.signal).then(
      (found) => {
        if (running.current !== own) return;
        setAnswer(found);
        setSeconds((performance.now() - begun) / 1e3);
        setBusy(false);
      },
      (why: unknown) => {
        if (running.current !== own) return;
        setError(why);
        setBusy(false);
      },
    );
  };
  useEffect(() => () => running.current?.abort(), []);
  useEffect(() => {
    stop();
    setAnswer(null);
    setError(null);
  }, [runId.value]);
  return { answer, error, busy, seconds, ask, stop };
}

function Rows({ answer, seconds }: { readonly answer: SqlAnswer; readonly seconds: number }) {
  const table = useMemo(() => tableOfAnswer(answer), [answer]);
  const [picked, setPicked] = useState<number | null>(null);
  useEffect(() => setPicked(null), [table]);
  const chart = useMemo(() => chartOf(table), [table]);
  const charted = chart !== null && view.value["as"] === "chart";
  const more = answer.is_cut ? "; there are more" : "";
  if (answer.rows.length === 0) return <Empty>No row matches.</Empty>;
  return (
    <>
      {answer.notes.map((note) => (
        <p class="sub" key={note}>
          {note}
        </p>
      ))}
      <Panel
        title="Rows"
        note={`${formatInt(table.rows.length)} ${table.rows.length === 1 ? "row" : "rows"}${more}, ${seconds.toFixed(2)} s`}
        flush
        {...(charted ? { picture: "sql" } : {})}
        actions={
          <>
            <Tabs
              label="Shown as"
              tabs={chart === null ? [] : SHOWN_AS}
              selected={charted ? "chart" : "table"}
              onSelect={(as) => go({ view: { as: as === "chart" ? as : "" } }, "replace")}
            />
            <TableExport table={table} name="sql" />
          </>
        }
      >
        {charted ? <AnswerChart table={table} chart={chart} /> : <DataTable table={table} selected={picked} onSelect={setPicked} />}
      </Panel>
      {!charted && picked !== null && <RowDetails table={table} row={picked} onClose={() => setPicked(null)} />}
    </>
  );
}

const SHOWN_AS = [
  { id: "table", label: "Table" },
  { id: "chart", label: "Chart" },
];

/** A line or bars of one column, which is chosen where there are several. */
function AnswerChart({ table, chart }: { readonly table: Table; readonly chart: Chart }) {
  const asked = table.columns.findIndex((column) => column.id === view.value["y"]);
  const y = chart.y.includes(asked) ? asked : (chart.y[0] as number);
  const bars = chart.kind === "bars" ? barsOf(table, chart, y, seriesVar(0)) : null;
  return (
    <div class="query-chart">
      {chart.y.length > 1 && (
        <label class="field">
          <span>column</span>
          <select value={table.columns[y]?.id} onChange={(event) => go({ view: { y: event.currentTarget.value } }, "replace")}>
            {chart.y.map((i) => (
              <option key={i} value={table.columns[i]?.id} selected={i === y}>
                {table.columns[i]?.label}
              </option>
            ))}
          </select>
        </label>
      )}
      {bars === null ? <LineChart series={seriesOf(table, chart, y)} /> : <Bars rows={bars.rows} full={bars.full} />}
      {bars !== null && bars.more > 0 && <p class="sub">{`${formatInt(bars.more)} more rows are in the table`}</p>}
    </div>
  );
}

/** Tables and functions; a click puts a name where the cursor is. */
function Schema({ about, onPick }: { readonly about: SqlAbout; readonly onPick: (name: string) => void }) {
  return (
    <Panel title="Tables" class="query-schema">
      {about.tables.map((table) => (
        <details key={table.name}>
          <summary title={table.doc}>{table.name}</summary>
          <ul>
            {table.columns.map((column) => (
              <li key={column.name}>
                <button type="button" class="quiet" title={column.doc} onClick={() => onPick(column.name)}>
                  {column.name}
                </button>
                {column.unit !== "" && column.unit !== "1" && <span class="unit"> {column.unit}</span>}
              </li>
            ))}
          </ul>
        </details>
      ))}
      <details>
        <summary>Functions</summary>
        <ul>
          {about.functions.map((one) => (
            <li key={one.usage}>
              <button type="button" class="quiet" title={one.doc} onClick={() => onPick(one.usage)}>
                {one.usage}
              </button>
            </li>
          ))}
        </ul>
      </details>
    </Panel>
  );
}
