/** From the baseline's step to the experiment's: a bar for each kind of change; a click shows what it is made of. */

import { tableOf } from "../../api/read";
import type { Report } from "../../api/types";
import { formatDuration, formatInt } from "../../base/format";
import { go, view } from "../../state/route";
import { TableExport } from "../../widgets/Export";
import { Panel } from "../../widgets/Panel";
import { Words } from "../../widgets/Words";
import { partsOf } from "./ops";
import type { Part } from "./ops";
import { durationChange, shareChange } from "./quantity";
import { meansOf } from "./verdict";
import type { Fall, Waterfall } from "./waterfall";
import { kindName, place, waterfall } from "./waterfall";

const COLOURS: Readonly<Record<Fall["turn"], string>> = {
  total: "var(--muted)",
  more: "var(--odd)",
  less: "var(--series-3)",
  none: "var(--muted)",
};

export function WaterfallPanel({ report }: { readonly report: Report }) {
  const table = tableOf(report, "waterfall");
  const falls = waterfall(table, meansOf(report));
  if (table === null || falls === null) return null;
  const asked = view.value["kind"] ?? "";
  const fall = falls.falls.find((one) => one.kind !== "" && one.kind === asked);
  return (
    <Panel
      title="Where the change comes from"
      note={`time of a step; the parts sum to ${durationChange(falls.sum)}${falls.start > 0 ? `; the bars begin at ${formatDuration(falls.start, 3)}` : ""}`}
      picture="compare-waterfall"
      actions={<TableExport table={table} name="compare-waterfall" />}
    >
      <Falls falls={falls} asked={asked} />
      {fall !== undefined && <FallParts fall={fall} report={report} />}
    </Panel>
  );
}

function Falls({ falls, asked }: { readonly falls: Waterfall; readonly asked: string }) {
  return (
    <ul class="hbars compare-falls">
      {falls.falls.map((fall) => {
        const { left, width } = place(fall, falls);
        const text = fall.turn === "total" ? formatDuration(fall.ps) : durationChange(fall.ps);
        const share = fall.share === null ? "" : ` · ${shareChange(fall.share)}`;
        const tip = [
          `${fall.name}: ${text}${share}`,
          ...(fall.ops === null ? [] : [`${formatInt(fall.ops)} ops`]),
          ...(fall.largest === "" ? [] : [`Largest: ${fall.largest.replaceAll("`", "")}`]),
        ];
        return (
          <li class={fall.turn === "total" ? "fall-total" : fall.kind === asked ? "picked" : ""} data-tip={tip.join("\n")} key={fall.name}>
            {fall.kind === "" ? (
              <span class="hbar-name">{fall.name}</span>
            ) : (
              <button
                type="button"
                class="hbar-name link"
                aria-expanded={fall.kind === asked}
                onClick={() => go({ view: { kind: fall.kind === asked ? "" : fall.kind } }, "replace")}
              >
                {fall.name}
              </button>
            )}
            <span class="hbar-track" aria-hidden="true">
              <span
                class="hbar"
                style={{
                  marginLeft: `${left * 100}%`,
                  width: fall.turn === "none" ? "1px" : `max(2px, ${width * 100}%)`,
                  backgroundColor: COLOURS[fall.turn],
                }}
              />
            </span>
            <span class="hbar-text">
              {text}
              <span class="compare-share">{share}</span>
            </span>
          </li>
        );
      })}
    </ul>
  );
}

/** Parts shown of a bar. */
const MOST = 12;

/** What a bar is made of: ops, or kinds of time without ops. */
function FallParts({ fall, report }: { readonly fall: Fall; readonly report: Report }) {
  const ops = partsOf(fall.kind, tableOf(report, "ops"));
  const shown = (ops ?? []).slice(0, MOST);
  const full = Math.max(0, ...shown.map((part) => Math.abs(part.ps)));
  const pick = (part: Part): void => go({ view: { tab: "", mark: "", change: "", q: "", sel: part.key } });
  return (
    <div class="compare-parts">
      <h3>{kindName(fall.kind)}</h3>
      {fall.largest !== "" && (
        <p class="sub">
          {"Largest: "}
          <Words text={fall.largest} />
        </p>
      )}
      {ops === null && (
        <p class="sub">
          {"No op's time. "}
          <button type="button" class="link way" onClick={() => go({ view: { tab: "names", mark: "" } })}>
            All uses of a step's time
          </button>
        </p>
      )}
      {ops !== null && shown.length === 0 && <p class="sub">No op of the table below is part of it.</p>}
      <ul class="hbars">
        {shown.map((part) => (
          <li key={part.key}>
            <button type="button" class="hbar-name link" onClick={() => pick(part)}>
              {part.name}
            </button>
            <Diverging ps={part.ps} full={full} />
            <span class="hbar-text">{durationChange(part.ps)}</span>
          </li>
        ))}
      </ul>
      {ops !== null && ops.length > shown.length && <p class="sub">{`${formatInt(ops.length - shown.length)} smaller ones`}</p>}
    </div>
  );
}

/** Less to the left of the middle, more to the right. */
export function Diverging({ ps, full }: { readonly ps: number; readonly full: number }) {
  const half = full > 0 ? (Math.abs(ps) / full) * 50 : 0;
  return (
    <span class="hbar-track diverging" aria-hidden="true">
      <span
        class="hbar"
        style={{
          marginLeft: `${ps < 0 ? 50 - half : 50}%`,
          width: `max(1px, ${half}%)`,
          backgroundColor: ps < 0 ? COLOURS.less : COLOURS.more,
        }}
      />
    </span>
  );
}
