import { useMemo, useState } from "preact/hooks";

import { tableOf, valueNumber } from "../../api/read";
import type { AnalysisInfo, Report } from "../../api/types";
import { formatInt } from "../../base/format";
import type { Interval } from "../../base/scale";
import { go, hrefOf, view } from "../../state/route";
import { useReport } from "../../state/resource";
import { bySeverity } from "../../widgets/evidence";
import { Panel } from "../../widgets/Panel";
import { FindingCard } from "../../widgets/Finding";
import { Findings, ProvenanceFoot, QualityList, ValueCards } from "../../widgets/Report";
import { Empty, Loaded } from "../../widgets/States";
import { TablePanel } from "../../widgets/table/TablePanel";
import { taken } from "../ask";
import { Identities } from "./AttributeTab";
import type { Axis } from "./axis";
import { BoxChart } from "./BoxChart";
import { BufferLine } from "./BufferLine";
import { LiveChart } from "./LiveChart";
import { peakIndex, readBoxes, readLive, readMoments, scheduleOf } from "./live";
import { PartsPanel } from "./PartsPanel";

export interface PeakTabProps {
  readonly info: AnalysisInfo;
  /** For the buckets of the buffers. */
  readonly attribute: AnalysisInfo | undefined;
  /** For what stands out. */
  readonly diagnose: AnalysisInfo | undefined;
}

export function PeakTab({ info, attribute, diagnose }: PeakTabProps) {
  const report = useReport(info.id, taken(info, view.value));
  return (
    <Loaded from={report} what="the memory of the program">
      {(data) => <Peak report={data} name={info.id} attribute={attribute} diagnose={diagnose} />}
    </Loaded>
  );
}

/** Tables that are drawn or stand in the program picker. */
const OWN = new Set(["programs", "buffers", "allocations", "identities"]);
/** Sums that the tiles show. */
const SUMS = /^by_/;

interface PeakProps {
  readonly report: Report;
  readonly name: string;
  readonly attribute: AnalysisInfo | undefined;
  readonly diagnose: AnalysisInfo | undefined;
}

function Peak({ report, name, attribute, diagnose }: PeakProps) {
  const buffers = tableOf(report, "buffers");
  const identities = tableOf(report, "identities");
  return (
    <>
      {buffers !== null && <BufferLine table={buffers} module={view.value["module"] ?? String(report.values["program"]?.value ?? "")} />}
      <Findings report={report} />
      {diagnose !== undefined && <Standouts info={diagnose} />}
      <ValueCards report={report} />
      <Schedule report={report} />
      {identities !== null && <Identities table={identities} />}
      {buffers !== null && <Buffers report={report} attribute={attribute} name={name} />}
      {report.tables
        .filter((table) => !OWN.has(table.id) && !(buffers !== null && SUMS.test(table.id)))
        .concat(report.tables.filter((table) => table.id === "programs"))
        .map((table) => (
          <TablePanel key={table.id} table={table} name={name} />
        ))}
      {report.quality.length > 0 && <QualityList quality={report.quality} />}
      <ProvenanceFoot report={report} />
    </>
  );
}

/** The worst of what could be saved, beside the data that it is about. */
function Standouts({ info }: { readonly info: AnalysisInfo }) {
  const { module = "", space = "" } = view.value;
  const report = useReport(info.id, taken(info, { module, space }));
  const findings = bySeverity(report.data?.findings ?? []);
  // Without an answer the page's own question still has one.
  if (findings.length === 0) return null;
  return (
    <>
      {findings.slice(0, 2).map((finding) => (
        <FindingCard key={finding.id} finding={finding} {...(report.data === null ? {} : { report: report.data })} />
      ))}
      {findings.length > 2 && (
        <p>
          <a href={hrefOf({ view: { tab: "diagnose" } })} data-nav="memory">
            {`${formatInt(findings.length - 2)} more of what could be saved`}
          </a>
        </p>
      )}
    </>
  );
}

/** Bytes over the schedule, and where each buffer lies; both show the same part. */
function Schedule({ report }: { readonly report: Report }) {
  const live = useMemo(() => readLive(report), [report]);
  const moments = useMemo(() => readMoments(report), [report]);
  const boxes = useMemo(() => readBoxes(tableOf(report, "allocations")), [report]);
  const whole = useMemo(() => scheduleOf(live.padded, boxes), [live, boxes]);
  const points = live.padded;
  const [asked, setAsked] = useState<{ readonly of: Report; readonly part: Interval } | null>(null);
  const part = asked?.of === report ? asked.part : whole;
  const axis: Axis = { whole, part, look: (next) => setAsked({ of: report, part: next }) };
  const peak = valueNumber(report, "peak_event") ?? points[peakIndex(points)]?.at ?? null;
  const pick = (name: string): void => go({ view: { buffer: name } }, "replace");
  const zoomedIn = part[0] !== whole[0] || part[1] !== whole[1];
  if (points.length === 0 && boxes.length === 0)
    return <Empty>No schedule is known for this memory: the compiler placed no temporary buffers in it.</Empty>;
  return (
    <>
      {points.length > 0 && (
        <Panel
          title="Bytes in use in the order of the schedule"
          picture="memory-schedule"
          note="the wheel zooms, a drag moves"
          actions={
            zoomedIn && (
              <button type="button" class="quiet" onClick={() => setAsked(null)}>
                Show all
              </button>
            )
          }
        >
          <LiveChart live={live} moments={moments} peakAt={peak ?? 0} axis={axis} onPick={pick} />
        </Panel>
      )}
      {boxes.length > 0 && (
        <Panel
          title="Buffers by place and time"
          picture="memory-boxes"
          note={`${formatInt(boxes.length)} buffers; each is a box of its lifetime and place`}
        >
          <BoxChart boxes={boxes} axis={axis} peak={peak} selected={view.value["buffer"] ?? ""} onSelect={pick} />
        </Panel>
      )}
    </>
  );
}

interface BuffersProps {
  readonly report: Report;
  readonly attribute: AnalysisInfo | undefined;
  readonly name: string;
}

/** Buckets come from `memory attribute`, everything else from the report itself. */
function Buffers({ report, attribute, name }: BuffersProps) {
  const { module = "", space = "" } = view.value;
  const attributed = useReport(attribute?.id ?? "memory-attribute", taken(attribute, { module, space }));
  const tables = [tableOf(report, "buffers"), tableOf(attributed.data, "buffers")].flatMap((table) => (table === null ? [] : [table]));
  const sums = report.tables.filter((table) => SUMS.test(table.id));
  return <PartsPanel tables={tables} sums={sums} first="bucket" name={name} />;
}
