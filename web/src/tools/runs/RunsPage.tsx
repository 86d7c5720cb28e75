/** The runs that the server has, as a table: when, how large, on what device, how fast, and what its diagnosis says first. */

import { useEffect, useState } from "preact/hooks";

import { apiUrl, getReport } from "../../api/client";
import { valueText } from "../../api/read";
import type { RunInfo } from "../../api/types";
import { formatBytes, formatDate, formatInt } from "../../base/format";
import { chooseFile } from "../../state/drop";
import { go, hrefOf, view } from "../../state/route";
import { runId, runs } from "../../state/runs";
import { Panel } from "../../widgets/Panel";
import { Loading } from "../../widgets/States";
import { Words } from "../../widgets/Words";
import { PageHead } from "../PageHead";
import type { PageProps } from "../pages";
import { fitting, isAskedAtOnce } from "./listed";

/** Rows that are drawn; a filter reaches the others. */
const MOST = 200;
/** Runs that are asked without being told to: the newest. */
const ASKED = 24;

interface Facts {
  readonly device: string;
  readonly step: string;
  readonly verdict: string;
}

/** What was said of each run, kept while the page is open. */
const known = new Map<string, Facts>();

async function factsOf(run: string, signal: AbortSignal): Promise<Facts> {
  const ask = (analysis: string) => getReport(apiUrl(`report/${analysis}`, [["run", run]]), signal);
  try {
    const { values } = await ask("overview");
    const text = (id: string): string => (values[id] === undefined ? "" : valueText(values[id]));
    const verdict = (await ask("diagnose")).values["verdict"];
    return { device: text("device_type"), step: text("step_time_mean_ps"), verdict: verdict === undefined ? "" : valueText(verdict) };
  } catch (error) {
    return { device: "", step: "", verdict: error instanceof Error ? error.message : String(error) };
  }
}

export function RunsPage({ info }: PageProps) {
  const listed = runs.value;
  const filter = view.value["q"] ?? "";
  const own = (listed?.runs ?? []).filter((run) => run.dropped !== true);
  const dropped = (listed?.runs ?? []).filter((run) => run.dropped === true);
  const found = fitting(own, filter);
  const shown = found.slice(0, MOST);
  return (
    <>
      <PageHead info={info} of={null} />
      {listed === null ? (
        <Loading what="the list of runs" />
      ) : (
        <Panel
          title={`Runs in ${listed.logdir}`}
          note={
            found.length === own.length
              ? `${formatInt(found.length)}, newest first`
              : `${formatInt(found.length)} of ${formatInt(own.length)}`
          }
          flush
          actions={
            <>
              <button
                type="button"
                class="quiet"
                data-tip="A profile on this machine; you can also drop it anywhere on the page"
                onClick={chooseFile}
              >
                Open a file
              </button>
              <input
                class="filter"
                type="search"
                placeholder="Filter: words, -not"
                aria-label="Filter runs by name and host; a word with a minus excludes"
                value={filter}
                onInput={(event) => go({ view: { q: event.currentTarget.value } }, "replace")}
              />
            </>
          }
        >
          <Table shown={shown} />
          {found.length > shown.length && (
            <p class="all-unknown">{`${formatInt(found.length - shown.length)} more: type a part of a name`}</p>
          )}
        </Panel>
      )}
      {dropped.length > 0 && (
        <Panel title="Dropped on the page" note="in memory until the server ends" flush>
          <Table shown={fitting(dropped, filter)} label="Dropped runs" />
        </Panel>
      )}
    </>
  );
}

function Table({ shown, label = "Runs" }: { readonly shown: readonly RunInfo[]; readonly label?: string }) {
  const [, setCame] = useState(0);
  const [wanted, setWanted] = useState<ReadonlySet<string>>(new Set());
  const asked = shown.filter((run, i) => wanted.has(run.id) || (i < ASKED && isAskedAtOnce(run)));
  const key = asked.map((run) => run.id).join("\n");
  useEffect(() => {
    const abort = new AbortController();
    const askAll = async (): Promise<void> => {
      // One after the other: a question on the page goes first.
      for (const { id } of asked) {
        if (known.has(id)) continue;
        const facts = await factsOf(id, abort.signal);
        if (abort.signal.aborted) return;
        known.set(id, facts);
        setCame((count) => count + 1);
      }
    };
    void askAll();
    return () => abort.abort();
  }, [key]);
  return (
    <div class="table-wrap fill">
      <table class="data plain runs" aria-label={label}>
        <thead>
          <tr>
            {["Run", "Date", "Device", "Step time", "Diagnosis", "Hosts", "Size"].map((label) => (
              <th scope="col" key={label} class={/time|Hosts|Size/.test(label) ? "num" : ""}>
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {shown.map((run) => (
            <Row
              key={run.id}
              run={run}
              facts={known.get(run.id) ?? null}
              onAsk={asked.includes(run) ? null : () => setWanted(new Set([...wanted, run.id]))}
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface RowProps {
  readonly run: RunInfo;
  readonly facts: Facts | null;
  /** Asks what is known of it; null where that is done. */
  readonly onAsk: (() => void) | null;
}

function Row({ run, facts, onAsk }: RowProps) {
  const isOpen = run.id === runId.value;
  return (
    <tr class={isOpen ? "selected" : ""}>
      <td>
        <a href={hrefOf({ run: run.id, page: "overview" })} data-nav="overview" aria-current={isOpen ? "true" : undefined}>
          {run.name.split("/").map((part, i) => (i === 0 ? part : ["/", <wbr />, part]))}
        </a>
      </td>
      <td>{formatDate(run.modified_ms)}</td>
      <td>{facts?.device ?? ""}</td>
      <td class="num">{facts?.step ?? ""}</td>
      <td class="runs-verdict">
        {run.writing === true ? (
          "being written"
        ) : facts !== null ? (
          <Words text={facts.verdict} />
        ) : onAsk === null ? (
          "…"
        ) : (
          <button type="button" class="quiet" onClick={onAsk}>
            Ask
          </button>
        )}
      </td>
      <td class={run.hosts.length === 1 ? "num runs-hosts one" : "num runs-hosts"}>{formatInt(run.hosts.length)}</td>
      <td class="num">{formatBytes(run.size_bytes, 3)}</td>
    </tr>
  );
}
