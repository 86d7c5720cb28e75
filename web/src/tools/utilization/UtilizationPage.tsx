import { tableOf } from "../../api/read";
import type { Report } from "../../api/types";
import { formatCell, formatShare } from "../../base/format";
import { go, view } from "../../state/route";
import { useReport } from "../../state/resource";
import { Bars } from "../../widgets/chart/Bars";
import { Panel } from "../../widgets/Panel";
import { Findings, ProvenanceFoot, QualityList, ValueCards } from "../../widgets/Report";
import { Loaded } from "../../widgets/States";
import { TablePanel } from "../../widgets/table/TablePanel";
import { Nothing } from "../time/Nothing";
import { PageHead } from "../PageHead";
import type { PageProps } from "../pages";
import { Params, paramQuery } from "../Params";
import { devicesOf, groupsOf } from "./groups";

export function UtilizationPage({ info }: PageProps) {
  const report = useReport("utilization", paramQuery(info));
  return (
    <>
      <PageHead info={info}>
        <Params info={info} />
      </PageHead>
      <Loaded from={report} what="hardware counters">
        {(data) => <Utilization report={data} />}
      </Loaded>
    </>
  );
}

function Utilization({ report }: { readonly report: Report }) {
  const table = tableOf(report, "units");
  const devices = devicesOf(table);
  const chosen = devices.includes(view.value["device"] ?? "") ? (view.value["device"] ?? "") : (devices[0] ?? "");
  if (table === null || table.rows.length === 0) return <Nothing report={report} id="no_hardware_counters" />;
  return (
    <>
      <Findings report={report} />
      <ValueCards report={report} />
      {devices.length > 1 && (
        <label class="field">
          <span>device</span>
          <select value={chosen} onChange={(event) => go({ view: { device: event.currentTarget.value } }, "replace")}>
            {devices.map((device) => (
              <option value={device}>{device}</option>
            ))}
          </select>
        </label>
      )}
      <div class="columns">
        {groupsOf(table, chosen).map((group) => (
          <Panel key={group.name} title={group.name} note="of the maximum">
            <Bars
              full={1}
              rows={group.rows.map((unit) => ({
                name: unit.name,
                title: table.columns
                  .map((c, i) => `${c.label}: ${formatCell(table.rows[unit.row]?.[i] ?? null, c.kind, c.unit)}`)
                  .join("\n"),
                parts:
                  unit.share === null
                    ? []
                    : [{ name: unit.name, value: Math.min(1, unit.share), text: formatShare(unit.share), colour: "var(--busy)" }],
                text: unit.share === null ? "unknown" : formatShare(unit.share),
              }))}
            />
          </Panel>
        ))}
      </div>
      <TablePanel table={table} name="utilization" />
      {report.quality.length > 0 && <QualityList quality={report.quality} />}
      <ProvenanceFoot report={report} />
    </>
  );
}
