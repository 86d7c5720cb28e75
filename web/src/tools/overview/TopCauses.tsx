/** The costliest causes that the diagnosis found, and the way to it. */

import { hrefOf } from "../../state/route";
import { useAnalyses, useReport } from "../../state/resource";
import { Headline } from "../../widgets/Headline";
import { Panel } from "../../widgets/Panel";
import { Loaded } from "../../widgets/States";
import { Words } from "../../widgets/Words";
import { CauseBar } from "../diagnose/CauseBar";
import { parted } from "../diagnose/read";

const MOST = 3;

/** An older server has no diagnosis. */
function useListed(): boolean {
  return useAnalyses().data?.analyses.some((info) => info.id === "diagnose") ?? false;
}

/** Asked for after the overview itself is there. */
export function TopCauses() {
  return useListed() ? <Teaser /> : null;
}

/** The diagnosis in one sentence, and the way to it. */
export function RunVerdict() {
  return useListed() ? <Sentence /> : null;
}

function Sentence() {
  const report = useReport("diagnose");
  return (
    <Loaded from={report} what="the verdict" aside>
      {(data) => (
        <Headline report={data}>
          {" "}
          <a href={hrefOf({ page: "diagnose" })} data-nav="diagnose">
            Why, and what to do
          </a>
        </Headline>
      )}
    </Loaded>
  );
}

function Teaser() {
  const report = useReport("diagnose");
  return (
    <Panel
      title="Top causes"
      note="the most that could be saved, as a share of the time"
      actions={
        <a href={hrefOf({ page: "diagnose" })} data-nav="diagnose">
          The diagnosis
        </a>
      }
    >
      <Loaded from={report} what="the diagnosis" aside>
        {(data) => {
          const causes = parted(data).causes.slice(0, MOST);
          if (causes.length === 0) return <p class="empty">No cause of lost time was found; the diagnosis says what was checked.</p>;
          return (
            <ol class="causes plain">
              {causes.map((cause) => (
                <li key={cause.rank}>
                  <span class="cause-rank">{cause.rank}</span>
                  <a class="cause-claim" href={hrefOf({ page: "diagnose", view: { mark: `causes:${cause.rank}` } })} data-nav="cause">
                    <Words text={cause.claim} />
                  </a>
                  <CauseBar cause={cause} />
                </li>
              ))}
            </ol>
          );
        }}
      </Loaded>
    </Panel>
  );
}
