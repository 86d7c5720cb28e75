/** Many runs, a row each: how fast, how full, and what is wrong first. */

import { useState } from "preact/hooks";

import { apiUrl, getReport } from "../../api/client";
import { tableOf } from "../../api/read";
import type { Report, Table } from "../../api/types";
import { type SortKey, formatSort, parseSort } from "../../base/rows";
import { useResource } from "../../state/resource";
import { go, hrefOf, view } from "../../state/route";
import { runs } from "../../state/runs";
import { TableExport } from "../../widgets/Export";
import { Panel } from "../../widgets/Panel";
import { QualityList } from "../../widgets/Report";
import { RowDetails } from "../../widgets/RowDetails";
import { Loaded } from "../../widgets/States";
import { DataTable } from "../../widgets/table/DataTable";
import { PageHead } from "../PageHead";
import type { PageProps } from "../pages";
import { idOf, noteOf } from "./fleet";

/** How far back is asked; the empty word asks for all. */
const SINCE: readonly (readonly [string, string])[] = [
  ["", "all"],
  ["24h", "of the last day"],
  ["7d", "of the last week"],
  ["30d", "of the last 30 days"],
];

/** It is of many runs: neither the run nor the scope of the page has a part in it. */
export function FleetPage({ info }: PageProps) {
  const since = view.value["since"] ?? "";
  const url = apiUrl("fleet", since === "" ? [] : [["since", since]]);
  const report = useResource(url, "fleet", (signal) => getReport(url, signal));
  return (
    <>
      <PageHead info={info} of={null}>
        <label class="field">
          <span>Runs</span>
          <select value={since} onChange={(event) => go({ view: { since: event.currentTarget.value } })}>
            {(SINCE.some(([word]) => word === since) ? SINCE : [...SINCE, [since, `since ${since}`] as const]).map(([word, label]) => (
              <option key={word} value={word}>
                {label}
              </option>
            ))}
          </select>
        </label>
        <button type="button" onClick={() => report.reload()}>
          Read again
        </button>
      </PageHead>
      <Loaded from={report} what="every run in this place: each is read once, which takes a while the first time">
        {(data) => <Fleet report={data} />}
      </Loaded>
    </>
  );
}

function Fleet({ report }: { readonly report: Report }) {
  const table = tableOf(report, "runs");
  const [selected, setSelected] = useState<number | null>(null);
  const [shown, setShown] = useState<number | null>(null);
  if (table === null) return null;
  const filter = view.value["q"] ?? "";
  const sort = parseSort(view.value["sort"]);
  const onSort = (key: SortKey | null): void => go({ view: { sort: key === null ? "" : formatSort(key) } }, "replace");
  const row = selected !== null && selected < table.rows.length ? selected : null;
  return (
    <>
      <Panel
        title={table.title}
        note={noteOf(report, shown ?? table.rows.length)}
        flush
        actions={
          <>
            <input
              class="filter"
              type="search"
              placeholder="Filter: run, cause, device"
              aria-label="Filter the runs by any of their words"
              value={filter}
              onInput={(event) => go({ view: { q: event.currentTarget.value } }, "replace")}
            />
            <TableExport table={table} name="fleet" />
          </>
        }
      >
        <DataTable
          table={table}
          fill
          filter={filter}
          sort={sort}
          onSort={onSort}
          selected={row}
          onSelect={setSelected}
          onCount={setShown}
          linkOf={(cells) => {
            const id = idOf(runs.value?.runs ?? [], String(cells[0] ?? ""));
            return id === null ? null : { href: hrefOf({ run: id, page: "overview" }), nav: "overview" };
          }}
        />
      </Panel>
      {row !== null && (
        <RowDetails table={table} row={row} onClose={() => setSelected(null)} op={null} actions={<Ways table={table} row={row} />} />
      )}
      {report.quality.length > 0 && <QualityList quality={report.quality} />}
      <p class="sub">Steps of different programs cannot be compared: Compare says what changed between two runs.</p>
    </>
  );
}

/** Where a row leads: its run, why it is slow, and the comparison with the run that is shown. */
function Ways({ table, row }: { readonly table: Table; readonly row: number }) {
  const id = idOf(runs.value?.runs ?? [], String(table.rows[row]?.[0] ?? ""));
  if (id === null) return null;
  const way = (page: string, label: string) => (
    <a class="way" href={hrefOf({ run: id, page })} data-nav={page}>
      {label}
    </a>
  );
  return (
    <>
      {way("overview", "Open the run")}
      {way("diagnose", "Why is it slow?")}
      {way("compare", "Compare it")}
    </>
  );
}
