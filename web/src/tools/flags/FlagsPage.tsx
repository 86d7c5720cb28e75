import { useEffect, useState } from "preact/hooks";

import { tableOf } from "../../api/read";
import type { AnalysisInfo, Report } from "../../api/types";
import { go, view } from "../../state/route";
import { useReport } from "../../state/resource";
import { Findings, ProvenanceFoot, QualityList, ValueCards } from "../../widgets/Report";
import { Panel } from "../../widgets/Panel";
import { Loaded } from "../../widgets/States";
import { TablePanel } from "../../widgets/table/TablePanel";
import { WordTable } from "../../widgets/table/WordTable";
import { PageHead } from "../PageHead";
import type { PageProps } from "../pages";
import { Params, paramQuery } from "../Params";
import { effectTone, statusTone } from "./status";

const OWN = new Set(["flags", "conflicts", "missing"]);

export function FlagsPage({ info }: PageProps) {
  const report = useReport("audit-flags", paramQuery(info));
  return (
    <>
      <PageHead info={info}>
        <Params info={info} leave={["script"]} />
      </PageHead>
      <ScriptPanel info={info} />
      <Loaded from={report} what="flags">
        {(data) => <Flags report={data} />}
      </Loaded>
    </>
  );
}

/** Profiles hold no flags as a rule: the script that started the run does. */
function ScriptPanel({ info }: { readonly info: AnalysisInfo }) {
  const param = info.params.find((one) => one.id === "script");
  const asked = view.value["script"] ?? "";
  const [text, setText] = useState(asked);
  useEffect(() => setText(asked), [asked]);
  if (param === undefined) return null;
  return (
    <Panel
      title="The launch script"
      note="a script, an environment dump, JSON, YAML or Python; it becomes part of the address and goes only to this server"
    >
      <form
        class="script"
        onSubmit={(event) => {
          event.preventDefault();
          go({ view: { script: text.trim() } });
        }}
      >
        <textarea
          rows={asked === "" ? 6 : 3}
          spellcheck={false}
          aria-label="The text of a launch script"
          placeholder={'export XLA_FLAGS="--xla_gpu_enable_latency_hiding_scheduler=true"\nexport LIBTPU_INIT_ARGS="--xla_tpu_…"'}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <div class="script-buttons">
          <button type="submit" class="primary">
            Audit
          </button>
          {asked !== "" && (
            <button type="button" class="quiet" onClick={() => go({ view: { script: "" } })}>
              Clear
            </button>
          )}
        </div>
      </form>
    </Panel>
  );
}

function Flags({ report }: { readonly report: Report }) {
  return (
    <>
      <Findings report={report} />
      <ValueCards report={report} />
      <WordTable
        table={tableOf(report, "conflicts")}
        name="audit-flags"
        columns={[
          { id: "flag", code: true, below: ["line"] },
          { id: "with", code: true },
          { id: "why", below: ["source"] },
          { id: "lever", code: true },
        ]}
      />
      <WordTable
        table={tableOf(report, "missing")}
        name="audit-flags"
        columns={[
          { id: "flag", code: true, below: ["now", "default", "since"] },
          { id: "stall" },
          { id: "stall_share" },
          { id: "does", below: ["source"] },
          { id: "lever", code: true },
        ]}
      />
      <WordTable
        table={tableOf(report, "flags")}
        name="audit-flags"
        empty="No flags are known: paste the script that started the run."
        columns={[
          { id: "flag", code: true, below: ["variable", "line", "found", "where"] },
          { id: "value", code: true, below: ["default", "kind"] },
          { id: "status", tone: statusTone, below: ["since"] },
          { id: "effect", tone: effectTone },
          { id: "does", below: ["intent", "source"] },
        ]}
      />
      {report.tables
        .filter((one) => !OWN.has(one.id) && one.rows.length > 0)
        .map((one) => (
          <TablePanel key={one.id} table={one} name="audit-flags" />
        ))}
      {report.quality.length > 0 && <QualityList quality={report.quality} />}
      <ProvenanceFoot report={report} />
    </>
  );
}
