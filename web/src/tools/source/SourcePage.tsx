import { useMemo, useState } from "preact/hooks";

import { getSource, getSourceState } from "../../api/client";
import { columnIndex, tableOf, textAt } from "../../api/read";
import type { Report, Table } from "../../api/types";
import { formatInt } from "../../base/format";
import { formatSort, parseSort } from "../../base/rows";
import { go, view } from "../../state/route";
import { useReport, useResource } from "../../state/resource";
import { Panel } from "../../widgets/Panel";
import { Findings, ProvenanceFoot, QualityList, ValueCards } from "../../widgets/Report";
import { RowDetails } from "../../widgets/RowDetails";
import { Empty, Loaded } from "../../widgets/States";
import { DataTable } from "../../widgets/table/DataTable";
import { downloadCsv } from "../../widgets/table/download";
import { Tabs } from "../../widgets/Tabs";
import { PageHead } from "../PageHead";
import type { PageProps } from "../pages";
import { CallsPanel } from "./CallsPanel";
import { CodeView } from "./CodeView";
import { hottest, linesOf, looksChanged, shortPath, without } from "./lines";

export function SourcePage({ info }: PageProps) {
  const report = useReport("source");
  return (
    <>
      <PageHead info={info} />
      <Loaded from={report} what="source lines">
        {(data) => <Source report={data} />}
      </Loaded>
    </>
  );
}

function Source({ report }: { readonly report: Report }) {
  const files = tableOf(report, "files");
  const lines = tableOf(report, "lines");
  const calls = report.trees.find((tree) => tree.id === "calls");
  const show = view.value["show"] === "calls" && calls !== undefined ? "calls" : "files";
  return (
    <>
      <Findings report={report} />
      <ValueCards report={report} />
      {calls !== undefined && (
        <Tabs
          label="What is shown"
          tabs={[
            { id: "files", label: "Files and lines" },
            { id: "calls", label: "Calls" },
          ]}
          selected={show}
          onSelect={(id) => go({ view: { show: id === "files" ? "" : id } })}
        />
      )}
      {show === "calls" && calls !== undefined && <CallsPanel tree={calls} />}
      {show === "files" &&
        (files === null || lines === null || files.rows.length === 0 ? (
          <Empty>No operation in this scope says which line it comes from.</Empty>
        ) : (
          <Files files={files} lines={lines} />
        ))}
      {report.quality.length > 0 && <QualityList quality={report.quality} />}
      <ProvenanceFoot report={report} />
    </>
  );
}

function Files({ files, lines: all }: { readonly files: Table; readonly lines: Table }) {
  // The text stands beside the time.
  const lines = useMemo(() => without(all, "text"), [all]);
  const column = columnIndex(files, "file");
  const named = files.rows.findIndex((row) => textAt(row, column) === view.value["at"]);
  const at = named >= 0 ? named : 0;
  const file = textAt(files.rows[at], column) ?? "";
  return (
    <>
      <Panel
        title={files.title}
        note={`${formatInt(files.rows.length)} ${files.rows.length === 1 ? "file" : "files"}; pick one to see its lines`}
        flush
        actions={
          <button type="button" class="quiet" onClick={() => downloadCsv(files, "source-files")}>
            CSV
          </button>
        }
      >
        <DataTable
          table={files}
          selected={at}
          onSelect={(row) => {
            if (row !== null) go({ view: { at: textAt(files.rows[row], column) ?? "", line: "" } });
          }}
          sort={parseSort(view.value["sort"])}
          onSort={(key) => go({ view: { sort: key === null ? "" : formatSort(key) } }, "replace")}
        />
      </Panel>
      <FileLines key={file} file={file} table={lines} />
    </>
  );
}

function FileLines({ file, table }: { readonly file: string; readonly table: Table }) {
  const [whole, setWhole] = useState(false);
  const state = useResource("/api/source", "source state", getSourceState);
  const given = state.data?.available === true;
  const source = useResource(given ? `/api/source ${file}` : null, "source text", (signal) => getSource(file, signal));
  const text = given && source.error === null ? (source.data?.text ?? null) : null;
  const lines = useMemo(() => linesOf(table, file, text), [table, file, text]);
  const asked = Number(view.value["line"] ?? "");
  const picked = lines.findIndex((line) => line.number === asked);
  const row = lines[picked]?.row ?? -1;
  const hint = !given
    ? state.data === null
      ? ""
      : "Start the server with --source-root DIR, DIR being a checkout of the program, to read the text of the lines here."
    : source.error instanceof Error
      ? source.error.message
      : looksChanged(lines)
        ? "Lines that take time are empty or absent in this text: it is not the version that was profiled."
        : "";
  return (
    <div class={row >= 0 ? "split open" : "split"}>
      <Panel
        title={shortPath(file)}
        note={text === null ? `${formatInt(lines.length)} lines that ops come from` : (source.data?.path ?? "")}
        flush
        class="grow"
        actions={
          <>
            {text !== null && (
              <label class="field">
                <input type="checkbox" checked={whole} onChange={(event) => setWhole(event.currentTarget.checked)} />
                <span>whole file</span>
              </label>
            )}
            <button type="button" class="quiet" onClick={() => downloadCsv(table, "source-lines")}>
              CSV
            </button>
          </>
        }
      >
        {hint !== "" && <p class="code-note">{hint}</p>}
        <CodeView
          label={`Lines of ${file}`}
          lines={lines}
          around={whole || text === null ? null : 6}
          at={picked >= 0 ? picked : hottest(lines)}
          selected={picked >= 0 ? picked : null}
          onSelect={(line) => go({ view: { at: file, line: line === null ? "" : String(lines[line]?.number ?? "") } }, "replace")}
        />
      </Panel>
      {row >= 0 && (
        <RowDetails
          table={table}
          row={row}
          onClose={() => go({ view: { line: "" } }, "replace")}
          actions={
            <button type="button" onClick={() => go({ page: "ops", view: { q: `${file.split("/").at(-1) ?? file}:${asked}` } })}>
              Its ops
            </button>
          }
        />
      )}
    </div>
  );
}
