import type { AnalysisInfo, Report } from "../../api/types";
import { go, view } from "../../state/route";
import { useAnalyses, useReport } from "../../state/resource";
import { Findings, ProvenanceFoot, QualityList, ValueCards } from "../../widgets/Report";
import { Empty, Loaded } from "../../widgets/States";
import { Tabs } from "../../widgets/Tabs";
import { PageHead } from "../PageHead";
import type { PageProps } from "../pages";
import { Params, paramQuery, paramValue } from "../Params";
import { ProfileTree } from "./ProfileTree";

const BY_WORDS: Readonly<Record<string, string>> = {
  program: "Program",
  category: "Category",
  provenance: "Provenance",
  source: "Source",
};

export function OpProfilePage({ info }: PageProps) {
  const report = useReport("op-profile", paramQuery(info));
  return (
    <>
      <PageHead info={info}>
        <ByTabs info={info} />
        <Params info={info} leave={["by"]} />
      </PageHead>
      <Loaded from={report} what="the op profile">
        {(data) => <OpProfile report={data} />}
      </Loaded>
    </>
  );
}

/** What the first levels are. Another tree has other nodes: what was selected and zoomed to goes. */
function ByTabs({ info }: { readonly info: AnalysisInfo }) {
  const by = info.params.find((param) => param.id === "by");
  if (by === undefined) return null;
  return (
    <Tabs
      label="What the first levels are"
      tabs={(by.choices ?? []).map((id) => ({ id, label: BY_WORDS[id] ?? id }))}
      selected={paramValue(by)}
      onSelect={(id) => go({ view: { by: id === by.default ? "" : id, sel: "", at: "" } })}
    />
  );
}

function OpProfile({ report }: { readonly report: Report }) {
  const known = useAnalyses();
  const tree = report.trees[0];
  // The timeline is a page without an analysis of its own.
  const pages = new Set(["timeline", "hlo", ...(known.data?.analyses ?? []).map((info) => info.id)]);
  return (
    <>
      <Findings report={report} />
      <ValueCards report={report} />
      {tree === undefined || tree.nodes.length === 0 ? (
        <Empty>No operations ran in this scope.</Empty>
      ) : (
        <ProfileTree tree={tree} pages={pages} name={`op-profile-${view.value["by"] ?? "program"}`} />
      )}
      {report.quality.length > 0 && <QualityList quality={report.quality} />}
      <ProvenanceFoot report={report} />
    </>
  );
}
