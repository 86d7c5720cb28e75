import type { AnalysisInfo, Report } from "../../api/types";
import { useReport } from "../../state/resource";
import { LineChart } from "../../widgets/chart/LineChart";
import { Panel } from "../../widgets/Panel";
import { Findings, ProvenanceFoot, QualityList, ValueCards, Verdict } from "../../widgets/Report";
import { Loaded } from "../../widgets/States";
import { TablePanel } from "../../widgets/table/TablePanel";
import { TreePanel } from "../../widgets/tree/TreePanel";
import { TextPanel } from "../../widgets/text/TextPanel";
import { PageHead } from "../PageHead";
import type { PageProps } from "../pages";
import { Params, paramQuery } from "../Params";

export function GenericPage({ info, title }: PageProps) {
  return (
    <>
      <PageHead info={info} title={title}>
        <Params info={info} />
      </PageHead>
      <GenericReport info={info} />
    </>
  );
}

/** The report of an analysis with the parameters that the address gives it. */
export function GenericReport({ info }: { readonly info: AnalysisInfo }) {
  const report = useReport(info.id, paramQuery(info));
  return (
    <Loaded from={report} what={info.name ?? info.id}>
      {(data) => <ReportParts report={data} name={info.id} />}
    </Loaded>
  );
}

/** Any report: findings, verdict, values, texts, series, trees, tables, quality. */
export function ReportParts({ report, name }: { readonly report: Report; readonly name: string }) {
  return (
    <>
      <Findings report={report} />
      <Verdict report={report} />
      <ValueCards report={report} />
      {(report.texts ?? []).map((text) => (
        <TextPanel key={text.id} text={text} />
      ))}
      {report.series.map((series) => (
        <Panel key={series.id} title={series.title} picture={`${name}-${series.id}`}>
          <LineChart series={series} />
        </Panel>
      ))}
      {report.trees.map((tree) => (
        <TreePanel key={tree.id} tree={tree} name={name} />
      ))}
      {report.tables.map((table) => (
        <TablePanel key={table.id} table={table} name={name} />
      ))}
      {report.quality.length > 0 && <QualityList quality={report.quality} />}
      <ProvenanceFoot report={report} />
    </>
  );
}
