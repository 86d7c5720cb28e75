import { useState } from "preact/hooks";

import { tableOf } from "../../api/read";
import type { Report } from "../../api/types";
import { useReport } from "../../state/resource";
import { Bars } from "../../widgets/chart/Bars";
import { Panel } from "../../widgets/Panel";
import { Findings, ProvenanceFoot, QualityList, ValueCards } from "../../widgets/Report";
import { RowDetails } from "../../widgets/RowDetails";
import { Loaded } from "../../widgets/States";
import { TablePanel } from "../../widgets/table/TablePanel";
import { Nothing } from "../time/Nothing";
import { PageHead } from "../PageHead";
import type { PageProps } from "../pages";
import { Params, paramQuery } from "../Params";
import { latencyBars } from "./bars";

const MOST = 40;

export function MegascalePage({ info }: PageProps) {
  const report = useReport("megascale", paramQuery(info));
  return (
    <>
      <PageHead info={info}>
        <Params info={info} />
      </PageHead>
      <Loaded from={report} what="transfers between slices">
        {(data) => <Megascale report={data} />}
      </Loaded>
    </>
  );
}

function Megascale({ report }: { readonly report: Report }) {
  const [selected, setSelected] = useState<number | null>(null);
  const table = tableOf(report, "collectives");
  if (table === null || table.rows.length === 0) return <Nothing report={report} id="no_transfers" />;
  const { rows, full } = latencyBars(table, MOST);
  const note = table.rows.length > MOST ? `${MOST} of ${table.rows.length}, most stall first` : "mean of each, most stall first";
  return (
    <>
      <Findings report={report} />
      <ValueCards report={report} />
      {selected !== null && <RowDetails table={table} row={selected} onClose={() => setSelected(null)} />}
      <Panel title="Latency of collectives between slices" note={note}>
        <Bars rows={rows} full={full} legend onPick={(row) => setSelected(Number(row))} />
      </Panel>
      {report.tables.map((one) => (
        <TablePanel key={one.id} table={one} name="megascale" />
      ))}
      {report.quality.length > 0 && <QualityList quality={report.quality} />}
      <ProvenanceFoot report={report} />
    </>
  );
}
