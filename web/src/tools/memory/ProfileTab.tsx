import { useMemo } from "preact/hooks";

import { ApiError } from "../../api/client";
import type { AnalysisInfo, Report } from "../../api/types";
import { go, view } from "../../state/route";
import { useReport } from "../../state/resource";
import { LineChart } from "../../widgets/chart/LineChart";
import { Panel } from "../../widgets/Panel";
import { Findings, ProvenanceFoot, QualityList, ValueCards } from "../../widgets/Report";
import { ErrorBox, Loaded } from "../../widgets/States";
import { TableStacks } from "../../widgets/table/TableStacks";
import { Words } from "../../widgets/Words";
import { taken } from "../ask";
import { allocatorsOf } from "./curves";

/** What the runtime's allocators did. */
export function ProfileTab({ info }: { readonly info: AnalysisInfo }) {
  const report = useReport(info.id, taken(info, view.value));
  if (report.error instanceof ApiError && report.error.kind === "nothing") return <NoEvents error={report.error} info={info} />;
  return (
    <Loaded from={report} what="allocator events">
      {(data) => <Runtime report={data} name={info.id} />}
    </Loaded>
  );
}

function Runtime({ report, name }: { readonly report: Report; readonly name: string }) {
  return (
    <>
      <Findings report={report} />
      <ValueCards report={report} />
      <Curves report={report} />
      <TableStacks tables={report.tables} name={name} />
      {report.quality.length > 0 && <QualityList quality={report.quality} />}
      <ProvenanceFoot report={report} />
    </>
  );
}

/** One allocator at a time: a run has as many as it has devices. */
function Curves({ report }: { readonly report: Report }) {
  const allocators = useMemo(() => allocatorsOf(report.series), [report]);
  const shown = allocators.find((one) => one.name === view.value["allocator"]) ?? allocators[0];
  if (shown === undefined) return null;
  return (
    <>
      {allocators.length > 1 && (
        <label class="field">
          <span>allocator</span>
          <select value={shown.name} onChange={(event) => go({ view: { allocator: event.currentTarget.value } }, "replace")}>
            {allocators.map((one) => (
              <option key={one.name} value={one.name} selected={one === shown}>
                {one.name}
              </option>
            ))}
          </select>
        </label>
      )}
      {shown.charts.map((series) => (
        <Panel key={series.id} title={series.title} picture={`memory-${series.id}`}>
          <LineChart series={series} steps />
        </Panel>
      ))}
    </>
  );
}

/** The server's words, then what a capture must have for this. */
function NoEvents({ error, info }: { readonly error: ApiError; readonly info: AnalysisInfo }) {
  return (
    <>
      <ErrorBox error={error} />
      {(info.needs ?? []).length > 0 && (
        <div class="notice calm">
          <p class="notice-title">What fills this page</p>
          <ul>
            {(info.needs ?? []).map((need) => (
              <li key={need}>
                <Words text={need} />
              </li>
            ))}
          </ul>
        </div>
      )}
    </>
  );
}
