import { columnIndex, numberAt, tableOf, textAt } from "../../api/read";
import type { Report } from "../../api/types";
import { useReport } from "../../state/resource";
import { Findings, ProvenanceFoot, QualityList, ValueCards } from "../../widgets/Report";
import { Panel } from "../../widgets/Panel";
import { Loaded } from "../../widgets/States";
import { TablePanel } from "../../widgets/table/TablePanel";
import { WordTable } from "../../widgets/table/WordTable";
import { BarPanel } from "../BarPanel";
import { said } from "../bars";
import { PageHead } from "../PageHead";
import type { PageProps } from "../pages";
import { Params, paramQuery } from "../Params";

/** A share below this needs the whole track all the same: full is the peak. */
const PEAK = 1;

export function MfuPage({ info }: PageProps) {
  const report = useReport("compute-mfu", paramQuery(info));
  return (
    <>
      <PageHead info={info} />
      {info.params.length > 0 && (
        <Panel title="What a step does" note="without these values, only the program's count is used">
          <div class="page-controls mfu-params">
            <Params info={info} />
          </div>
        </Panel>
      )}
      <Loaded from={report} what="FLOPs">
        {(data) => <Mfu report={data} />}
      </Loaded>
    </>
  );
}

function Mfu({ report }: { readonly report: Report }) {
  const methods = tableOf(report, "methods");
  const status = methods === null ? -1 : columnIndex(methods, "status");
  const unknown = (methods?.rows ?? []).filter((row) => numberAt(row, methods === null ? -1 : columnIndex(methods, "mfu")) === null);
  return (
    <>
      <Findings report={report} />
      <ValueCards report={report} />
      <BarPanel
        table={methods}
        spec={{
          name: ["method"],
          parts: [{ id: "mfu", name: "of the peak", colour: "var(--busy)" }],
          colour: (row) => (textAt(row, status) === "estimated" ? "var(--series-2)" : "var(--busy)"),
          ...(methods === null ? {} : { text: (row) => said(methods, row, "mfu", "status") }),
        }}
        full={PEAK}
        title="By way of counting"
        note="a full bar is the peak"
        what="methods"
        picture="compute-mfu"
      >
        {unknown.length > 0 && <p class="identity">{`Unknown: ${unknown.map((row) => String(row[0] ?? "")).join(", ")}`}</p>}
      </BarPanel>
      <WordTable
        table={methods}
        name="compute-mfu"
        columns={[
          { id: "method", below: ["status"] },
          { id: "mfu", below: ["ratio_to_hlo"] },
          { id: "flops_per_step", below: ["flop_rate"] },
          { id: "peak_used", below: ["peak"] },
          { id: "counts" },
          { id: "differs" },
        ]}
      />
      {report.tables
        .filter((one) => one.id !== "methods" && one.rows.length > 0)
        .map((one) => (
          <TablePanel key={one.id} table={one} name="compute-mfu" />
        ))}
      {report.quality.length > 0 && <QualityList quality={report.quality} />}
      <ProvenanceFoot report={report} />
    </>
  );
}
