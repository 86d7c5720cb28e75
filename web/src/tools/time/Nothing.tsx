/** A page whose data the profile does not hold: what is missing, and which capture option would fill it. */

import type { Report } from "../../api/types";
import "../../styles/time.css";
import { ProvenanceFoot, QualityList } from "../../widgets/Report";
import { Words } from "../../widgets/Words";

/** `id` is the remark that says so. */
export function Nothing({ report, id }: { readonly report: Report; readonly id: string }) {
  const note = report.quality.find((one) => one.id === id);
  const others = report.quality.filter((one) => one.id !== id);
  return (
    <>
      <div class="notice calm" role="status">
        <p class="notice-title">Nothing to show here</p>
        <p class="reason">
          <Words text={note?.message ?? "the profile has no such data"} />
        </p>
        {(note?.cost ?? "") !== "" && (
          <p class="sub">
            <Words text={note?.cost ?? ""} />
          </p>
        )}
        {(note?.cure ?? "") !== "" && (
          <p class="sub">
            <b>To fill this page:</b> <Words text={note?.cure ?? ""} />
          </p>
        )}
      </div>
      {others.length > 0 && <QualityList quality={others} />}
      <ProvenanceFoot report={report} />
    </>
  );
}
