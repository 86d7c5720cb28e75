import { columnIndex, numberAt, tableOf, textAt } from "../../api/read";
import type { AnalysisInfo, Report } from "../../api/types";
import { formatBytes } from "../../base/format";
import { go, view } from "../../state/route";
import { useAnalyses, useReport } from "../../state/resource";
import { Empty, Loading } from "../../widgets/States";
import { Tabs } from "../../widgets/Tabs";
import { taken } from "../ask";
import { ModulePicker, ModuleSelect } from "../ModulePicker";
import { moduleChoices, modulesOf } from "../modules";
import { PageHead } from "../PageHead";
import type { PageProps } from "../pages";
import { Params } from "../Params";
import { AttributeTab } from "./AttributeTab";
import { DiagnoseTab } from "./DiagnoseTab";
import { PeakTab } from "./PeakTab";
import { ProfileTab } from "./ProfileTab";

const TABS: readonly { readonly id: string; readonly label: string }[] = [
  { id: "peak", label: "At the peak" },
  { id: "attribute", label: "What it is for" },
  { id: "diagnose", label: "What could be saved" },
  { id: "profile", label: "At run time" },
];

export function MemoryPage({ info }: PageProps) {
  const analyses = useAnalyses();
  const all = analyses.data?.analyses ?? [];
  const found = (tab: string): AnalysisInfo | undefined => all.find((one) => one.id === `memory-${tab}`);
  const tabs = TABS.filter((tab) => found(tab.id) !== undefined);
  const tab = tabs.find((one) => one.id === view.value["tab"])?.id ?? tabs[0]?.id;
  const shown = tab === undefined ? undefined : found(tab);
  const takes = (id: string): boolean => shown?.params.some((param) => param.id === id) === true;
  return (
    <>
      <PageHead info={info} of={shown ?? null} question={shown === undefined || tab === "peak" ? info.question : shown.question}>
        {takes("module") && <Pickers peak={found("peak")} takesSpace={takes("space")} />}
        {shown !== undefined && <Params info={shown} leave={["module", "space"]} />}
      </PageHead>
      <Tabs
        label="Question about memory"
        tabs={tabs}
        selected={tab ?? ""}
        onSelect={(id) => go({ view: { tab: id === tabs[0]?.id ? "" : id, part: "" } })}
      />
      {shown === undefined &&
        (analyses.loading ? <Loading what="the list of analyses" /> : <Empty>This server has no memory analyses.</Empty>)}
      {shown !== undefined && tab === "peak" && <PeakTab info={shown} attribute={found("attribute")} diagnose={found("diagnose")} />}
      {shown !== undefined && tab === "attribute" && <AttributeTab info={shown} />}
      {shown !== undefined && tab === "diagnose" && <DiagnoseTab info={shown} />}
      {shown !== undefined && tab === "profile" && <ProfileTab info={shown} />}
    </>
  );
}

/** The run's programs, each with its peak, and the memories of the one that is shown; without a pick the server takes the
 * program that needs most of the main memory. */
function Pickers({ peak, takesSpace }: { readonly peak: AnalysisInfo | undefined; readonly takesSpace: boolean }) {
  const report = useReport(peak?.id ?? "memory-peak", taken(peak, view.value));
  const choices = moduleChoices(modulesOf(report.data, "programs"));
  const chosen = report.data?.values["program"]?.value;
  return (
    <>
      {choices.length === 0 ? <ModulePicker /> : <ModuleSelect choices={choices} chosen={typeof chosen === "string" ? chosen : ""} />}
      {takesSpace && <SpaceSelect report={report.data} />}
    </>
  );
}

const MAIN_MEMORY = "0";

/** Which memory; by number, which every analysis understands. */
function SpaceSelect({ report }: { readonly report: Report | null }) {
  const spaces = tableOf(report, "spaces");
  const asked = view.value["space"] ?? "";
  if ((spaces === null || spaces.rows.length < 2) && asked === "") return null;
  const column = (id: string): number => (spaces === null ? -1 : columnIndex(spaces, id));
  const [name, number, peak] = [column("space"), column("number"), column("peak_bytes")];
  const rows = spaces?.rows ?? [];
  const value = asked === "" ? MAIN_MEMORY : asked;
  return (
    <label class="field" data-tip="The memory that the page is about">
      <span>memory</span>
      <select
        value={value}
        onChange={(event) =>
          go({ view: { space: event.currentTarget.value === MAIN_MEMORY ? "" : event.currentTarget.value, buffer: "", part: "" } })
        }
      >
        {!rows.some((row) => textAt(row, number) === value) && (
          <option value={value}>{value === MAIN_MEMORY ? "main memory" : value}</option>
        )}
        {rows.map((row) => {
          const id = textAt(row, number) ?? "";
          const bytes = numberAt(row, peak);
          return (
            <option key={id} value={id} selected={id === value}>
              {`${textAt(row, name) ?? id}${bytes === null ? "" : `, ${formatBytes(bytes, 3)}`}`}
            </option>
          );
        })}
      </select>
    </label>
  );
}
