/** The overview's own panels. */

import { columnIndex, labelOf, numberAt, tableOf, textAt, valueText } from "../../api/read";
import type { Report, Table } from "../../api/types";
import { assignColours, seriesVar } from "../../base/colour";
import { boundVar } from "../../base/meaning";
import { formatCell, formatDuration, formatShare } from "../../base/format";
import { go, hrefOf } from "../../state/route";
import { markIn } from "../../state/mark";
import { Bars } from "../../widgets/chart/Bars";
import { Explained } from "../../widgets/Explained";
import { Panel } from "../../widgets/Panel";
import { rowKey } from "../../widgets/op/named";
import { BUSY, deviceActivity } from "./activity";
import { sideBySide } from "./sideBySide";

const MOST_DEVICES = 16;
const MOST_OPS = 10;

export function ActivityPanel({ report }: { readonly report: Report }) {
  const activity = deviceActivity(tableOf(report, "devices"));
  if (activity.length === 0) return null;
  const rows = activity.slice(0, MOST_DEVICES).map(({ device, parts }) => {
    const total = parts.reduce((sum, part) => sum + part.ps, 0);
    return {
      name: device,
      parts: parts.map((part, i) => ({
        name: part.name,
        value: part.ps,
        text: formatDuration(part.ps),
        colour: part.name === BUSY ? "var(--busy)" : i === 1 ? "var(--idle-1)" : "var(--idle-0)",
      })),
      text: total > 0 ? formatShare((parts[0]?.ps ?? 0) / total) : "unknown",
    };
  });
  const full = Math.max(...rows.map((row) => row.parts.reduce((sum, part) => sum + part.value, 0)));
  return (
    <Panel
      title="Busy and idle by device"
      picture="overview-devices"
      note={
        activity.length > MOST_DEVICES
          ? `first ${MOST_DEVICES} of ${activity.length} devices; share is busy time; a click makes one the scope`
          : "share is busy time; a click makes a device the scope"
      }
    >
      <Bars rows={rows} full={full} legend onPick={(device) => go({ scope: { devices: device } })} />
    </Panel>
  );
}

/** An average over a mostly idle capture says little; the same number over the active window stands beside it. */
export function SideBySidePanel({ report }: { readonly report: Report }) {
  const sides = sideBySide(report);
  if (sides === null) return null;
  return (
    <Panel title="Whole capture and active window" flush>
      <table class="data plain">
        <thead>
          <tr>
            <th scope="col" aria-label="Quantity" />
            {sides.heads.map((head) => (
              <th scope="col" class="num" title={head}>
                {head.replace(/\s*\(.*\)$/, "")}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {sides.lines.map(({ column, cells }) => (
            <tr>
              <th scope="row">
                <Explained doc={column.doc} unit={column.unit} id={column.id} of={column}>
                  {column.label}
                </Explained>
              </th>
              {cells.map((cell) => (
                <td class={cell === null ? "num unknown" : "num"}>{formatCell(cell, column.kind, column.unit)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  );
}

/** A table of times by class as bars; the first column names, the share is of the whole that the table is about. */
export function TimeBars({ table, colours }: { readonly table: Table | null; readonly colours: "bound" | "idle" }) {
  if (table === null || table.rows.length === 0) return null;
  const time = columnIndex(table, "time_ps");
  const share = columnIndex(table, "share", "share_of_capture");
  const rows = table.rows.flatMap((row, i) => {
    const ps = numberAt(row, time);
    if (ps === null) return [];
    const name = textAt(row, 0) ?? "";
    const part = numberAt(row, share);
    const colour = colours === "bound" ? (boundVar(name) ?? seriesVar(i)) : `var(--idle-${i % 4})`;
    const text = formatDuration(ps, 3);
    return [{ name, parts: [{ name, value: ps, text, colour }], text: part === null ? text : `${text} · ${formatShare(part)}` }];
  });
  return (
    <Panel
      title={table.title}
      of={table.columns[time]}
      picture={`overview-${table.id}`}
      {...(share < 0 ? {} : { note: (table.columns[share]?.label ?? "").toLowerCase() })}
    >
      <Bars rows={rows} full={Math.max(...rows.map((row) => row.parts[0]?.value ?? 0))} marked={markIn(table.id)} />
    </Panel>
  );
}

export function TopOps({ table }: { readonly table: Table | null }) {
  if (table === null || table.rows.length === 0) return null;
  const name = Math.max(0, columnIndex(table, "name", "op"));
  const category = columnIndex(table, "category");
  const time = columnIndex(table, "self_ps");
  const share = columnIndex(table, "self_share");
  const top = table.rows.slice(0, MOST_OPS);
  const names = top.map((row) => textAt(row, name) ?? "");
  const twice = new Set(names.filter((one, i) => names.indexOf(one) !== i));
  const categories = assignColours(top.map((row) => textAt(row, category) ?? ""));
  const rows = top.map((row) => {
    const ps = numberAt(row, time) ?? 0;
    const part = numberAt(row, share);
    const kind = textAt(row, category) ?? "unknown";
    const op = textAt(row, name) ?? "";
    const key = rowKey(table, row);
    return {
      name: op,
      key,
      // The same name in two programs is two ops.
      ...(twice.has(op) && key !== op ? { note: textAt(row, columnIndex(table, "module")) ?? "" } : {}),
      title: table.columns.map((column, i) => `${column.label}: ${formatCell(row[i] ?? null, column.kind, column.unit)}`).join("\n"),
      parts: [
        {
          name: kind,
          value: ps,
          text: formatDuration(ps),
          colour: boundVar(textAt(row, category) ?? "") ?? seriesVar(categories.get(textAt(row, category) ?? "") ?? 0),
        },
      ],
      text: part === null ? formatDuration(ps, 3) : `${formatDuration(ps, 3)} · ${formatShare(part)}`,
    };
  });
  return (
    <Panel
      title={table.title}
      of={table.columns[time]}
      picture="overview-ops"
      actions={
        <a href={hrefOf({ page: "ops" })} data-nav="ops">
          All ops
        </a>
      }
    >
      <Bars
        rows={rows}
        full={Math.max(...rows.map((row) => row.parts[0]?.value ?? 0))}
        legend
        onPick={(key) => go({ page: "ops", view: { sel: key } })}
      />
    </Panel>
  );
}

export function AllValues({ report, shown }: { readonly report: Report; readonly shown: readonly string[] }) {
  const rest = Object.entries(report.values).filter(([id]) => !shown.includes(id));
  if (rest.length === 0) return null;
  return (
    <details class="provenance">
      <summary>{`${rest.length} more values`}</summary>
      <dl>
        {rest.map(([id, value]) => (
          <div>
            <dt>
              <Explained doc={value.doc} unit={value.unit} id={id} of={value}>
                {labelOf(id, value)}
              </Explained>
            </dt>
            <dd>{valueText(value)}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}
