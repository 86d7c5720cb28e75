import { useReport } from "../../state/resource";
import { LineChart } from "../../widgets/chart/LineChart";
import { Panel } from "../../widgets/Panel";
import { Findings, ProvenanceFoot, QualityList, ValueCards } from "../../widgets/Report";
import { Loaded } from "../../widgets/States";
import { TablePanel } from "../../widgets/table/TablePanel";
import { PageHead } from "../PageHead";
import type { PageProps } from "../pages";
import { Params, paramQuery } from "../Params";

/** Any report: findings, values, series, tables, quality. */
export function GenericPage({ info }: PageProps) {
  const report = useReport(info.id, paramQuery(info));
  return (
    <>
      <PageHead title={info.id} question={info.question}>
        <Params info={info} />
      </PageHead>
      <Loaded from={report} what={info.id}>
        {(data) => (
          <>
            <Findings report={data} />
            <ValueCards report={data} />
            {data.series.map((series) => (
              <Panel title={series.title}>
                <LineChart series={series} />
              </Panel>
            ))}
            {data.tables.map((table) => (
              <TablePanel key={table.id} table={table} name={info.id} />
            ))}
            {data.quality.length > 0 && <QualityList quality={data.quality} />}
            <ProvenanceFoot report={data} />
          </>
        )}
      </Loaded>
    </>
  );
}
