import { useMemo } from "preact/hooks";

import { columnIndex, tableOf, textAt } from "../../api/read";
import type { Report, Table } from "../../api/types";
import { seriesVar } from "../../base/colour";
import { boundVar } from "../../base/meaning";
import { go } from "../../state/route";
import { useReport } from "../../state/resource";
import "../../styles/time.css";
import { StackChart } from "../../widgets/chart/StackChart";
import { Panel } from "../../widgets/Panel";
import { Findings, ProvenanceFoot, QualityList, ValueCards } from "../../widgets/Report";
import { Loaded } from "../../widgets/States";
import { TablePanel } from "../../widgets/table/TablePanel";
import { BarPanel } from "../BarPanel";
import type { BarSpec } from "../bars";
import { said } from "../bars";
import { PageHead } from "../PageHead";
import type { PageProps } from "../pages";
import { Params, paramQuery } from "../Params";
import { PHASES, layerStacks, phaseColour } from "./layers";

const MOST = 16;
/** Fewer layers than this are read better as bars with their names. */
const FEW = 6;

export function ComputePage({ info }: PageProps) {
  const report = useReport("compute", paramQuery(info));
  return (
    <>
      <PageHead info={info}>
        <Params info={info} />
      </PageHead>
      <Loaded from={report} what="compute time">
        {(data) => <Compute report={data} />}
      </Loaded>
    </>
  );
}

/** Self time with its share, one bar a row. */
function selfTime(table: Table | null, name: string, colour: BarSpec["colour"]): BarSpec {
  return {
    name: [name],
    parts: [{ id: "self_ps", name: "self time", colour: "var(--busy)" }],
    most: MOST,
    ...(colour === undefined ? {} : { colour }),
    ...(table === null ? {} : { text: (row) => said(table, row, "self_ps", "self_share") }),
  };
}

function Compute({ report }: { readonly report: Report }) {
  const [phases, categories, groups] = ["phases", "categories", "groups"].map((id) => tableOf(report, id));
  const layerTable = tableOf(report, "layers");
  const layers = useMemo(() => layerStacks(layerTable), [layerTable]);
  const phase = phases === null || phases === undefined ? -1 : columnIndex(phases, "phase");
  const kind = categories === null || categories === undefined ? -1 : columnIndex(categories, "category");
  return (
    <>
      <Findings report={report} />
      <ValueCards report={report} />
      <div class="columns">
        <BarPanel
          table={phases ?? null}
          spec={selfTime(phases ?? null, "phase", (row) => phaseColour(textAt(row, phase) ?? ""))}
          title="By phase"
          what="phases"
          picture="compute-phases"
        />
        <BarPanel
          table={categories ?? null}
          spec={selfTime(categories ?? null, "category", (row, i) => boundVar(textAt(row, kind) ?? "") ?? seriesVar(i))}
          title="By kind of work"
          what="kinds"
          picture="compute-categories"
        />
      </div>
      {layers.length < FEW && (
        <BarPanel
          table={layerTable}
          spec={{
            name: ["layer"],
            parts: PHASES,
            ...(layerTable === null ? {} : { text: (row) => said(layerTable, row, "self_ps", "self_share") }),
          }}
          title="Layer by layer"
          what="layers"
          picture="compute-layers"
        />
      )}
      {layers.length >= FEW && (
        <Panel title="Layer by layer" note="self time, all devices" picture="compute-layers">
          <StackChart label="Time of each layer by phase" unit="layer" stacks={layers} />
        </Panel>
      )}
      <Shortfall table={groups ?? null} />
      {report.tables
        .filter((one) => one.rows.length > 0)
        .map((one) => (
          <TablePanel key={one.id} table={one} name="compute" />
        ))}
      {report.quality.length > 0 && <QualityList quality={report.quality} />}
      <ProvenanceFoot report={report} />
    </>
  );
}

/** Groups by the time that lies beyond their roofline. */
function Shortfall({ table }: { readonly table: Table | null }) {
  if (table === null) return null;
  const [bound, op] = [columnIndex(table, "bound_by"), columnIndex(table, "slowest_op")];
  const pick = (name: string): void => {
    const row = table.rows.find((one) => String(one[0] ?? "") === name);
    go({ page: "ops", view: { sel: textAt(row, op) ?? "" } });
  };
  return (
    <BarPanel
      table={table}
      spec={{
        name: ["group"],
        parts: [{ id: "shortfall_ps", name: "beyond the roofline", colour: "var(--odd)" }],
        colour: (row) => boundVar(textAt(row, bound) ?? "") ?? "var(--odd)",
        text: (row) => said(table, row, "shortfall_ps", "shortfall_share", "bound_by"),
        most: MOST,
      }}
      title="Most time beyond the roofline"
      note="coloured by the nearest limit; a click shows the group's largest op"
      what="groups"
      picture="compute-shortfall"
      onPick={pick}
    />
  );
}
