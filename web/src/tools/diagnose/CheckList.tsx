/** Every check with its verdict; the filter keeps one verdict. */

import type { Report } from "../../api/types";
import { formatShare } from "../../base/format";
import { markIn } from "../../state/mark";
import { go, view } from "../../state/route";
import { TableExport } from "../../widgets/Export";
import { Panel } from "../../widgets/Panel";
import { Tabs } from "../../widgets/Tabs";
import { Tone } from "../../widgets/Tone";
import { Words } from "../../widgets/Words";
import { tableOf } from "../../api/read";
import type { Check } from "./read";
import { verdictCounts } from "./read";

const TONES = { found: "bad", clear: "good", unknown: "unknown", "does not apply": "none" } as const;

export function ChecksPanel({ checks, report }: { readonly checks: readonly Check[]; readonly report: Report }) {
  const table = tableOf(report, "checks");
  const counts = verdictCounts(checks);
  const wanted = counts.some((one) => one.verdict === view.value["check"]) ? (view.value["check"] ?? "") : "";
  const shown = wanted === "" ? checks : checks.filter((check) => check.verdict === wanted);
  const tabs = [
    { id: "", label: `all ${checks.length}` },
    ...counts.map(({ verdict, count }) => ({ id: verdict, label: `${verdict} ${count}` })),
  ];
  return (
    <Panel
      title="What was checked"
      flush
      actions={
        <>
          <Tabs label="Verdict" tabs={tabs} selected={wanted} onSelect={(id) => go({ view: { check: id } }, "replace")} />
          {table !== null && <TableExport table={table} name="diagnose-checks" />}
        </>
      }
    >
      <CheckTable checks={shown} />
    </Panel>
  );
}

function CheckTable({ checks }: { readonly checks: readonly Check[] }) {
  const marked = markIn("checks");
  return (
    <table class="data plain words checks">
      <thead>
        <tr>
          <th scope="col">Check</th>
          <th scope="col">Verdict</th>
          <th scope="col">What was seen</th>
          <th scope="col" class="num">
            Saved at most
          </th>
        </tr>
      </thead>
      <tbody>
        {checks.map((check) => (
          <tr key={check.rule} class={marked === check.rule ? "marked" : undefined} data-verdict={check.verdict}>
            <th scope="row">{check.rule}</th>
            <td>
              <Tone word={check.verdict} tone={TONES[check.verdict as keyof typeof TONES] ?? "plain"} />
            </td>
            <td class="check-said">
              <Words text={check.said} />
              {check.threshold !== "" && <span class="sub">{check.threshold}</span>}
              {check.verdict === "unknown" && check.needs !== "" && (
                <span class="sub">
                  needs <Words text={check.needs} />
                </span>
              )}
            </td>
            <td class="num">{check.saved === null ? "" : formatShare(check.saved)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
