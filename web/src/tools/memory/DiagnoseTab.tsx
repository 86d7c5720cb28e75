import type { AnalysisInfo } from "../../api/types";
import { view } from "../../state/route";
import { useReport } from "../../state/resource";
import { Findings, ProvenanceFoot, QualityList, ValueCards } from "../../widgets/Report";
import { Empty, Loaded } from "../../widgets/States";
import { taken } from "../ask";
import { BufferPanel } from "./BufferPanel";

/** Findings, worst first, then the numbers that they rest on. */
export function DiagnoseTab({ info }: { readonly info: AnalysisInfo }) {
  const report = useReport(info.id, taken(info, view.value));
  return (
    <Loaded from={report} what="what could be saved">
      {(data) => (
        <>
          {data.findings.length === 0 && <Empty>Nothing stands out in this program.</Empty>}
          <Findings report={data} />
          <ValueCards report={data} />
          {data.tables.map((table) => (
            <BufferPanel key={table.id} table={table} name={info.id} />
          ))}
          {data.quality.length > 0 && <QualityList quality={data.quality} />}
          <ProvenanceFoot report={data} />
        </>
      )}
    </Loaded>
  );
}
