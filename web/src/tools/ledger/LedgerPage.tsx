import { useMemo } from "preact/hooks";

import { apiUrl, getReport } from "../../api/client";
import { columnIndex, tableOf, textAt } from "../../api/read";
import type { Report, Table } from "../../api/types";
import { useResource } from "../../state/resource";
import { go, hrefOf, view } from "../../state/route";
import { runs } from "../../state/runs";
import "../../styles/ledger.css";
import { TableExport } from "../../widgets/Export";
import { FindingCard } from "../../widgets/Finding";
import { Panel } from "../../widgets/Panel";
import { QualityList, ValueCards } from "../../widgets/Report";
import { RowDetails } from "../../widgets/RowDetails";
import { Loaded } from "../../widgets/States";
import { DataTable } from "../../widgets/table/DataTable";
import { TablePanel } from "../../widgets/table/TablePanel";
import { PageHead } from "../PageHead";
import type { PageProps } from "../pages";
import { HistoryChart } from "./HistoryChart";
import { historiesOf, runOf } from "./history";

/** The history is of many runs: neither the run nor the scope of the page has a part in it. */
export function LedgerPage({ info }: PageProps) {
  const label: [string, string][] = [["label", view.value["label"] ?? ""]];
  const history = apiUrl("ledger", label);
  const report = useResource(history, "ledger", (signal) => getReport(history, signal));
  const asked = apiUrl("ledger/advice", label);
  const advice = useResource(asked, "ledger advice", (signal) => getReport(asked, signal));
  return (
    <>
      <PageHead info={info}>
        <LabelField />
        <button
          type="button"
          onClick={() => {
            report.reload();
            advice.reload();
          }}
        >
          Read again
        </button>
      </PageHead>
      <Loaded from={report} what="the ledger">
        {(data) => (
          <>
            {advice.data !== null && <Advice report={advice.data} />}
            <Ledger report={data} />
          </>
        )}
      </Loaded>
    </>
  );
}

function LabelField() {
  const asked = view.value["label"] ?? "";
  return (
    <label class="field">
      <span>Label</span>
      <input
        key={asked}
        defaultValue={asked}
        size={16}
        spellcheck={false}
        autocomplete="off"
        placeholder="model=small"
        onChange={(event) => go({ view: { label: event.currentTarget.value.trim() } })}
      />
    </label>
  );
}

/** Whether to keep the last change: the samples' word first, the score's beside it. */
function Advice({ report }: { readonly report: Report }) {
  return (
    <Panel title="The last entry" note="keep or revert">
      <div class="ledger-advice">
        {report.findings.map((finding) => (
          <FindingCard key={finding.id} finding={finding} report={report} />
        ))}
      </div>
    </Panel>
  );
}

function Ledger({ report }: { readonly report: Report }) {
  const histories = useMemo(() => historiesOf(report), [report]);
  const entries = tableOf(report, "entries");
  const sel = view.value["sel"] ?? "";
  const pick = (entry: string): void => go({ view: { sel: entry === sel ? "" : entry } }, "replace");
  return (
    <>
      {report.findings.map((finding, i) => (
        <FindingCard key={i} finding={finding} report={report} />
      ))}
      <ValueCards report={report} />
      <div class="histories">
        {histories.map((history) => (
          <Panel
            key={history.id}
            title={history.label}
            note={history.trend === "unknown" ? "" : history.trend}
            picture={`ledger-${history.id}`}
          >
            <HistoryChart history={history} selected={sel === "" ? null : Number(sel)} onPick={(entry) => pick(String(entry))} />
          </Panel>
        ))}
      </div>
      {entries !== null && <Entries table={entries} sel={sel} onPick={pick} />}
      {report.tables
        .filter((table) => table.id !== "entries")
        .map((table) => (
          <TablePanel key={table.id} table={table} name="ledger" />
        ))}
      {report.quality.length > 0 && <QualityList quality={report.quality} />}
    </>
  );
}

interface EntriesProps {
  readonly table: Table;
  /** Number of the entry that is looked at. */
  readonly sel: string;
  readonly onPick: (entry: string) => void;
}

function Entries({ table, sel, onPick }: EntriesProps) {
  const number = columnIndex(table, "entry");
  const found = sel === "" ? -1 : table.rows.findIndex((row) => textAt(row, number) === sel);
  const selected = found < 0 ? null : found;
  return (
    <>
      <Panel
        title={table.title}
        note="choose one to open its run, or to compare it with another"
        actions={<TableExport table={table} name="ledger-entries" />}
        flush
      >
        <DataTable
          table={table}
          selected={selected}
          onSelect={(row) => onPick(row === null ? sel : (textAt(table.rows[row], number) ?? ""))}
        />
      </Panel>
      {selected !== null && (
        <RowDetails table={table} row={selected} onClose={() => onPick(sel)} actions={<Ways table={table} row={selected} />} />
      )}
    </>
  );
}

/** Where an entry leads: its run, and the comparison with another entry's, where this server has them. */
function Ways({ table, row }: { readonly table: Table; readonly row: number }) {
  const known = runs.value?.runs ?? [];
  const cell = (at: number, id: string): string => textAt(table.rows[at], columnIndex(table, id)) ?? "";
  const of = (at: number) => runOf(known, cell(at, "run"), cell(at, "session"));
  const own = of(row);
  if (own === null) return <span class="panel-note">this server does not have its run</span>;
  const others = table.rows.flatMap((_, at) => {
    const run = at === row ? null : of(at);
    return run === null || run.id === own.id ? [] : [{ entry: Number(cell(at, "entry")), run }];
  });
  const entry = Number(cell(row, "entry"));
  const before = others.filter((one) => one.entry < entry).reduce((a, b) => (b.entry > a ? b.entry : a), 0);
  return (
    <>
      <a class="way" href={hrefOf({ page: "overview", run: own.id })} data-nav="overview">
        Open the run
      </a>
      {others.length > 0 && (
        <label class="field">
          <span class="visually-hidden">Compare with</span>
          <select
            value=""
            onChange={(event) => {
              const other = others.find((one) => String(one.entry) === event.currentTarget.value);
              if (other === undefined) return;
              // The earlier one is the baseline.
              const [a, b] = other.entry < entry ? [other.run.id, own.id] : [own.id, other.run.id];
              go({ page: "compare", run: a, view: { other: b } });
            }}
          >
            <option value="">Compare with…</option>
            {others.map((one) => (
              <option key={one.entry} value={one.entry}>
                {`entry ${one.entry}${one.entry === before ? ", the one before" : ""}`}
              </option>
            ))}
          </select>
        </label>
      )}
    </>
  );
}
