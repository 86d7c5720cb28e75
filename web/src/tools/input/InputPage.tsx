import { columnIndex, numberAt, tableOf, textAt, valueNumber, valueText } from "../../api/read";
import type { Report, Table } from "../../api/types";
import { assignColours, seriesVar } from "../../base/colour";
import { go } from "../../state/route";
import { useReport } from "../../state/resource";
import "../../styles/time.css";
import { Bars } from "../../widgets/chart/Bars";
import { StackChart } from "../../widgets/chart/StackChart";
import { Panel } from "../../widgets/Panel";
import { Findings, ProvenanceFoot, QualityList, ValueCards } from "../../widgets/Report";
import { Loaded } from "../../widgets/States";
import { TablePanel } from "../../widgets/table/TablePanel";
import { WordTable } from "../../widgets/table/WordTable";
import { Tone } from "../../widgets/Tone";
import { Words } from "../../widgets/Words";
import { BarPanel } from "../BarPanel";
import { said } from "../bars";
import { PageHead } from "../PageHead";
import type { PageProps } from "../pages";
import { Params, paramQuery } from "../Params";

const MOST = 24;
const RATES = [
  { id: "demand_rate", name: "demand", colour: "var(--series-1)" },
  { id: "supply_rate", name: "supply", colour: "var(--series-3)" },
  { id: "batch_rate", name: "as it was", colour: "var(--unknown)" },
];

export function InputPage({ info }: PageProps) {
  const report = useReport("input", paramQuery(info));
  return (
    <>
      <PageHead info={info}>
        <Params info={info} />
      </PageHead>
      <Loaded from={report} what="the input pipeline">
        {(data) => <Input report={data} />}
      </Loaded>
    </>
  );
}

function Input({ report }: { readonly report: Report }) {
  const stages = tableOf(report, "stages");
  return (
    <>
      <VerdictPanel report={report} />
      <Findings report={report} />
      <ValueCards report={report} />
      <div class="columns">
        <div class="stack">
          <StagesPanel table={stages} />
        </div>
        <div class="stack">
          <RatesPanel report={report} />
          <HostsPanel table={tableOf(report, "hosts")} />
        </div>
      </div>
      <WaitsPanel table={tableOf(report, "steps")} />
      <WordTable
        table={tableOf(report, "classes")}
        name="input"
        columns={[{ id: "class", below: ["stages"] }, { id: "work_ps" }, { id: "share" }, { id: "wall_ps" }, { id: "lever" }]}
      />
      {report.tables
        .filter((one) => one.id !== "classes")
        .map((one) => (
          <TablePanel key={one.id} table={one} name="input" />
        ))}
      {report.quality.length > 0 && <QualityList quality={report.quality} />}
      <ProvenanceFoot report={report} />
    </>
  );
}

/** The answer first, in a word and in a sentence. */
function VerdictPanel({ report }: { readonly report: Report }) {
  const { verdict, message } = report.values;
  if (verdict === undefined) return null;
  return (
    <div class="verdict-box">
      <Tone word={valueText(verdict)} />
      {message !== undefined && message.value !== null && (
        <p>
          <Words text={valueText(message)} />
        </p>
      )}
    </div>
  );
}

function StagesPanel({ table }: { readonly table: Table | null }) {
  if (table === null) return null;
  const kind = columnIndex(table, "class");
  const colours = assignColours(table.rows.map((row) => textAt(row, kind) ?? ""));
  const classes = [...colours].map(([name, colour]) => ({ name: name === "" ? "unknown class" : name, colour: seriesVar(colour) }));
  return (
    <BarPanel
      table={table}
      spec={{
        name: ["stage"],
        parts: [{ id: "work_ps", name: "work per step", colour: "var(--series-1)" }],
        colour: (row) => seriesVar(colours.get(textAt(row, kind) ?? "") ?? 0),
        text: (row) => said(table, row, "work_ps"),
        most: MOST,
      }}
      title="Stages, by work per step"
      what="stages"
      picture="input-stages"
    >
      <ul class="legend">
        {classes.map((one) => (
          <li>
            <span class="swatch" style={{ backgroundColor: one.colour }} aria-hidden="true" />
            {one.name}
          </li>
        ))}
      </ul>
    </BarPanel>
  );
}

/** Batches a second: what the devices could take, and what the host can give. */
function RatesPanel({ report }: { readonly report: Report }) {
  const rows = RATES.flatMap((rate) => {
    const value = valueNumber(report, rate.id);
    const own = report.values[rate.id];
    if (value === null || own === undefined) return [];
    const text = valueText(own);
    return [{ name: rate.name, parts: [{ name: rate.name, value, text, colour: rate.colour }], text }];
  });
  if (rows.length < 2) return null;
  return (
    <Panel
      title="Demand against supply"
      note="batches per second: what the devices could take, what the slowest stage can supply"
      picture="input-rates"
    >
      <Bars rows={rows} full={Math.max(...rows.map((row) => row.parts[0]?.value ?? 0))} />
    </Panel>
  );
}

function HostsPanel({ table }: { readonly table: Table | null }) {
  if (table === null || table.rows.length < 2) return null;
  return (
    <BarPanel
      table={table}
      spec={{
        name: ["host"],
        parts: [{ id: "waiting_ps", name: "devices wait", colour: "var(--m-host)" }],
        text: (row) => said(table, row, "waiting_ps", "waiting_share"),
        most: MOST,
      }}
      title="Waiting for input, by host"
      note="per step; a click makes that host the scope"
      what="hosts"
      picture="input-hosts"
      onPick={(hosts) => go({ scope: { hosts } })}
    />
  );
}

function WaitsPanel({ table }: { readonly table: Table | null }) {
  if (table === null || table.rows.length < 2) return null;
  const at = (id: string) => columnIndex(table, id);
  const stacks = table.rows.flatMap((row) => {
    const [step, waiting] = [numberAt(row, at("period_ps")), numberAt(row, at("waiting_ps"))];
    if (step === null || waiting === null) return [];
    const parts = [
      { name: "waits for input", value: waiting, colour: "var(--m-host)" },
      { name: "the rest of the step", value: Math.max(0, step - waiting), colour: "var(--m-compute)" },
    ];
    return [{ label: textAt(row, at("step")) ?? "", parts }];
  });
  if (stacks.length === 0) return null;
  return (
    <Panel title="Waiting for input, by step" note="a click makes that step the scope" picture="input-steps">
      <StackChart
        label="Waiting for input by step"
        unit="step"
        stacks={stacks}
        onPick={(index) => go({ scope: { steps: stacks[index]?.label ?? "" } })}
      />
    </Panel>
  );
}
