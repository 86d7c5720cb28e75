import { useReport } from "../../state/resource";
import { Findings, ProvenanceFoot, QualityList, ValueCards } from "../../widgets/Report";
import { Loaded } from "../../widgets/States";
import { TableStacks } from "../../widgets/table/TableStacks";
import { PageHead } from "../PageHead";
import type { PageProps } from "../pages";
import { Params, paramQuery } from "../Params";

/** What the files hold, and what they lack. */
export function InspectPage({ info }: PageProps) {
  const report = useReport("inspect", paramQuery(info));
  return (
    <>
      <PageHead info={info}>
        <Params info={info} />
      </PageHead>
      <Loaded from={report} what="the profile's contents">
        {(data) => (
          <>
            <Findings report={data} />
            <ValueCards report={data} />
            <QualityList quality={data.quality} />
            <TableStacks tables={data.tables} name="inspect" />
            <ProvenanceFoot report={data} />
          </>
        )}
      </Loaded>
    </>
  );
}
