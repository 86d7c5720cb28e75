import { useMemo } from "preact/hooks";

import { columnIndex, tableOf, textAt } from "../../api/read";
import type { AnalysisInfo, Report } from "../../api/types";
import { go } from "../../state/route";
import { useReport } from "../../state/resource";
import "../../styles/time.css";
import { Panel } from "../../widgets/Panel";
import { Findings, ProvenanceFoot, QualityList, ValueCards } from "../../widgets/Report";
import { Loaded } from "../../widgets/States";
import { TablePanel } from "../../widgets/table/TablePanel";
import { BarPanel } from "../BarPanel";
import { said } from "../bars";
import { PageHead } from "../PageHead";
import type { PageProps } from "../pages";
import { Params, paramQuery } from "../Params";
import { ChainStrip } from "./ChainStrip";
import { partColour, stretchesOf } from "./strip";
import { WhatIfPanel } from "./WhatIf";

const MOST_OPS = 10;

export function CriticalPathPage({ info }: PageProps) {
  const report = useReport("critical-path", paramQuery(info));
  return (
    <>
      <PageHead info={info}>
        <Params info={info} leave={["if"]} />
      </PageHead>
      <Loaded from={report} what="the critical path">
        {(data) => <CriticalPath report={data} info={info} />}
      </Loaded>
    </>
  );
}

function CriticalPath({ report, info }: { readonly report: Report; readonly info: AnalysisInfo }) {
  const stretches = useMemo(() => stretchesOf(tableOf(report, "chain")), [report]);
  const [parts, ops] = [tableOf(report, "parts"), tableOf(report, "ops")];
  const part = parts === null ? -1 : columnIndex(parts, "part");
  return (
    <>
      <Findings report={report} />
      <ValueCards report={report} />
      {stretches.length > 0 && (
        <Panel title="The path through a step" note="each device by its own clock" picture="critical-path-chain">
          <ChainStrip stretches={stretches} />
        </Panel>
      )}
      <WhatIfPanel report={report} info={info} />
      <div class="columns">
        <BarPanel
          table={parts}
          spec={{
            name: ["part"],
            parts: [{ id: "time_ps", name: "time on the path", colour: "var(--busy)" }],
            colour: (row) => partColour(textAt(row, part) ?? ""),
            ...(parts === null ? {} : { text: (row) => said(parts, row, "time_ps", "share") }),
          }}
          title="Time on the path, by use"
          what="parts"
          picture="critical-path-parts"
        />
        <BarPanel
          table={ops}
          spec={{
            name: ["op"],
            parts: [{ id: "path_ps", name: "time on the path", colour: "var(--busy)" }],
            most: MOST_OPS,
            ...(ops === null ? {} : { text: (row) => said(ops, row, "path_ps", "path_share") }),
          }}
          title="Ops on the path"
          what="ops"
          picture="critical-path-ops"
          onPick={(sel) => go({ page: "ops", view: { sel } })}
        />
      </div>
      {report.tables.map((one) => (
        <TablePanel key={one.id} table={one} name="critical-path" />
      ))}
      {report.quality.length > 0 && <QualityList quality={report.quality} />}
      <ProvenanceFoot report={report} />
    </>
  );
}
