import type { AnalysisInfo } from "../../api/types";
import { go, view } from "../../state/route";
import { useAnalyses, useReport } from "../../state/resource";
import { Empty, Loading } from "../../widgets/States";
import { Tabs } from "../../widgets/Tabs";
import { GenericReport } from "../generic/GenericPage";
import { ModulePicker } from "../ModulePicker";
import { PageHead } from "../PageHead";
import type { PageProps } from "../pages";
import { Params, paramQuery } from "../Params";
import { GraphTab, graphParams, moduleOf } from "./GraphTab";

/** The first tab: the graph and the text beside it. */
export const GRAPH = "graph";

/** The others show their analysis' report as it is. */
const TABS: readonly { readonly id: string; readonly label: string }[] = [
  { id: GRAPH, label: "Graph and text" },
  { id: "counters", label: "Counters" },
  { id: "fusions", label: "Fusions" },
  { id: "diff", label: "Diff" },
  { id: "modules", label: "Modules" },
];

export function HloPage({ info }: PageProps) {
  const analyses = useAnalyses();
  const all = analyses.data?.analyses ?? [];
  const found = (tab: string): AnalysisInfo | undefined => all.find((one) => one.id === `hlo-${tab}`);
  const tabs = TABS.filter((tab) => found(tab.id) !== undefined);
  const tab = tabs.find((one) => one.id === view.value["tab"])?.id ?? tabs[0]?.id;
  const shown = tab === undefined ? undefined : found(tab);
  // The same question as the tab's own: both wait for one answer, which says what the server chose.
  const report = useReport(shown?.id ?? "hlo-modules", shown === undefined ? [] : tab === GRAPH ? graphParams(shown) : paramQuery(shown));
  return (
    <>
      <PageHead info={info} of={shown ?? null} question={shown === undefined || tab === GRAPH ? info.question : shown.question}>
        {tab !== "modules" && <ModulePicker chosen={moduleOf(report.data)} />}
        {shown !== undefined && tab !== GRAPH && <Params info={shown} leave={["module"]} />}
      </PageHead>
      <Tabs
        label="What to show of the program"
        tabs={tabs}
        selected={tab ?? ""}
        onSelect={(id) => go({ view: { tab: id === tabs[0]?.id ? "" : id } })}
      />
      {shown === undefined &&
        (analyses.loading ? <Loading what="the list of analyses" /> : <Empty>This server has no HLO analyses.</Empty>)}
      {shown !== undefined && tab === GRAPH && <GraphTab graph={shown} search={found("search")} text={found("text")} />}
      {shown !== undefined && tab !== GRAPH && <GenericReport key={shown.id} info={shown} />}
    </>
  );
}
