import { useMemo, useState } from "preact/hooks";

import type { AnalysisInfo, Report, Table } from "../../api/types";
import { formatInt } from "../../base/format";
import { go, view } from "../../state/route";
import { useReport } from "../../state/resource";
import { Panel } from "../../widgets/Panel";
import { Findings, ProvenanceFoot, QualityList, ValueCards } from "../../widgets/Report";
import { RowDetails } from "../../widgets/RowDetails";
import { Empty, Loaded } from "../../widgets/States";
import { TablePanel } from "../../widgets/table/TablePanel";
import { TextView } from "../../widgets/text/TextView";
import { definedBy, lineOf, splitLines } from "../../widgets/text/lines";
import { CopyButton } from "../../widgets/text/TextPanel";
import { taken } from "../ask";
import { GraphBar } from "./GraphBar";
import { GraphView, valueBy } from "./GraphView";
import { HeatLegend } from "./HeatLegend";
import { Search } from "./Search";
import type { Drawn } from "./fold";
import { fold, openKeys, toggled } from "./fold";
import type { ColourBy, GraphNode } from "./graph";
import { centreOf, pathOf, readGraph } from "./graph";
import { amount, colourBy } from "./say";

export interface GraphTabProps {
  readonly graph: AnalysisInfo;
  readonly search: AnalysisInfo | undefined;
  readonly text: AnalysisInfo | undefined;
}

const NO_PATH: readonly string[] = [];

/** What the address asks of the graph. */
export function graphParams(info: AnalysisInfo): [string, string][] {
  const { module = "", node = "", radius = "", direction = "", to = "" } = view.value;
  return taken(info, { module, node, radius, direction, to });
}

export function GraphTab({ graph: info, search, text }: GraphTabProps) {
  const { module = "" } = view.value;
  const report = useReport(info.id, graphParams(info));
  return (
    <>
      <Search info={search} module={module}>
        <GraphBar info={info} />
      </Search>
      <Loaded from={report} what="the graph">
        {(data) => <GraphAndText report={data} text={text} />}
      </Loaded>
    </>
  );
}

/** The module that a report is about. */
export function moduleOf(report: Report | null): string {
  const module = report?.values["module"]?.value;
  return typeof module === "string" ? module : "";
}

const WORDS = { time: "time", flops: "FLOPs by shapes", bytes: "bytes by shapes" } as const;

function describe(node: Drawn, by: ColourBy): string {
  const what = node.kind === "instruction" ? node.note : `${node.times > 1 ? `${node.times} alike, ` : ""}${node.note}`;
  return `${node.label}, ${what}, ${WORDS[by]} ${amount(valueBy(node, by), by)}${node.folded ? ", folded" : ""}`;
}

function GraphAndText({ report, text }: { readonly report: Report; readonly text: AnalysisInfo | undefined }) {
  const graph = useMemo(() => readGraph(report), [report]);
  const centre = centreOf(report, graph, view.value["node"] ?? "");
  const to = view.value["to"] ?? "";
  // Without a pick the server chose one, and other analyses would choose another.
  const module = view.value["module"] ?? moduleOf(report);
  const open = view.value["open"];
  const layers = view.value["layers"] !== "0";
  const found = useMemo(() => pathOf(report, graph, to), [report, graph, to]);
  const path = found ?? NO_PATH;
  const folded = useMemo(
    () => fold(graph, { layers, open: openKeys(open), keep: new Set([centre, ...path].filter((name) => name !== "")) }),
    [graph, layers, open, centre, path],
  );
  const picked = view.value["sel"] ?? centre;
  const selected = folded.home.get(picked) ?? picked;
  const node = graph.nodes.find((one) => one.name === picked) ?? null;
  const by = colourBy();
  // Single instructions set the scale: a folded layer holds many, and would leave them all pale.
  const single = folded.nodes.filter((one) => one.kind === "instruction");
  const most = (single.length > 0 ? single : folded.nodes).reduce((top, one) => Math.max(top, valueBy(one, by) ?? 0), 0);

  const select = (name: string): void => go({ view: { sel: name === centre ? "" : name } }, "replace");
  const centreOn = (name: string): void => go({ view: { node: name, sel: "", to: "", open: "" } });
  const toggle = (id: string): void => go({ view: { open: toggled(openKeys(open), id) } }, "replace");

  if (graph.nodes.length === 0) return <Rest report={report} nodes={null} />;
  const nodes = report.tables.find((table) => table.id === "nodes") ?? null;
  const drawn = folded.nodes.length;
  return (
    <>
      <Findings report={report} />
      <Unfolded open={openKeys(open)} onFold={toggle} />
      <div class="hlo-split">
        <Panel
          title={to === "" ? `Around ${centre}` : found === null ? `No path from ${centre} to ${to} this way` : `From ${centre} to ${to}`}
          note={
            drawn === graph.nodes.length
              ? `${formatInt(drawn)} instructions`
              : `${formatInt(graph.nodes.length)} instructions in ${formatInt(drawn)} nodes`
          }
          flush
        >
          <GraphView
            folded={folded}
            colourBy={by}
            most={most}
            selected={selected}
            centre={folded.home.get(centre) ?? centre}
            path={path.map((name) => folded.home.get(name) ?? name)}
            describe={(one) => describe(one, by)}
            onSelect={(one) => select(one.id)}
            onCentre={(one) => (one.kind === "instruction" ? centreOn(one.id) : toggle(one.id))}
            onToggle={(one) => (one.folded || openKeys(open).has(one.id) ? toggle(one.id) : undefined)}
          />
        </Panel>
        <ProgramText
          info={text}
          module={module}
          node={node}
          centre={centre}
          onPick={(name) => (graph.nodes.some((one) => one.name === name) ? select(name) : centreOn(name))}
        />
      </div>
      <HeatLegend by={by} most={most} />
      {node !== null && nodes !== null && (
        <RowDetails
          table={nodes}
          row={node.row}
          {...(picked === centre ? {} : { onClose: () => select(centre) })}
          actions={<NodeActions node={node} centre={centre} to={to} onCentre={centreOn} />}
        />
      )}
      <Rest report={report} nodes={nodes} />
    </>
  );
}

function Rest({ report, nodes }: { readonly report: Report; readonly nodes: Table | null }) {
  return (
    <>
      {nodes === null && <Empty>There is nothing to draw here.</Empty>}
      <ValueCards report={report} />
      {report.tables.map((table) => (
        <TablePanel key={table.id} table={table} name="hlo-graph" />
      ))}
      {report.quality.length > 0 && <QualityList quality={report.quality} />}
      <ProvenanceFoot report={report} />
    </>
  );
}

/** What was unfolded, each with a way to fold it again. */
function Unfolded({ open, onFold }: { readonly open: ReadonlySet<string>; readonly onFold: (key: string) => void }) {
  if (open.size === 0) return null;
  return (
    <p class="unfolded">
      Unfolded
      {[...open].map((key) => {
        const name = key.replace(/^layers?:/, "");
        return (
          <span class="chip" key={key}>
            {key.startsWith("layers:") ? `${name} and similar ones` : name}
            <button type="button" aria-label={`Fold ${name}`} onClick={() => onFold(key)}>
              ×
            </button>
          </span>
        );
      })}
    </p>
  );
}

interface NodeActionsProps {
  readonly node: GraphNode;
  readonly centre: string;
  readonly to: string;
  readonly onCentre: (name: string) => void;
}

function NodeActions({ node, centre, to, onCentre }: NodeActionsProps) {
  const module = view.value["module"] ?? "";
  return (
    <>
      {node.name !== centre && (
        <button type="button" onClick={() => onCentre(node.name)}>
          Draw around it
        </button>
      )}
      {node.name !== centre && node.name !== to && (
        <button type="button" onClick={() => go({ view: { to: node.name } })}>
          {`Path from ${centre}`}
        </button>
      )}
      <button type="button" onClick={() => go({ page: "ops", view: { sel: node.name } })}>
        In the ops table
      </button>
      <button type="button" onClick={() => go({ page: "memory", view: { module, buffer: node.name } })}>
        Its memory
      </button>
    </>
  );
}

interface ProgramTextProps {
  readonly module: string;
  readonly info: AnalysisInfo | undefined;
  readonly node: GraphNode | null;
  readonly centre: string;
  readonly onPick: (name: string) => void;
}

/** The computation that the node is in, as XLA prints it. */
function ProgramText({ info, module, node, centre, onPick }: ProgramTextProps) {
  const form = view.value["form"] ?? "short";
  // While something folded is picked the text stays with what it showed.
  const [last, setLast] = useState({ name: centre, computation: "" });
  if (node !== null && node.name !== last.name) setLast({ name: node.name, computation: node.computation });
  const { name, computation } = node ?? last;
  const report = useReport(info?.id ?? "hlo-text", taken(info, { module, computation, form }));
  const text = report.data?.texts?.[0];
  const lines = useMemo(() => splitLines(text?.text ?? ""), [text?.text]);
  const at = useMemo(() => lineOf(lines, name), [lines, name]);
  return (
    <Panel
      title={computation === "" ? "Text" : computation}
      note="a line picks its instruction"
      flush
      actions={
        <>
          <label class="field check">
            <input
              type="checkbox"
              checked={form === "long"}
              onChange={(event) => go({ view: { form: event.currentTarget.checked ? "long" : "" } }, "replace")}
            />
            <span>in full</span>
          </label>
          {text !== undefined && <CopyButton text={text.text} />}
        </>
      }
    >
      <Loaded from={report} what="the text" aside>
        {() =>
          text === undefined ? (
            <Empty>No text of this computation.</Empty>
          ) : (
            <TextView
              fill
              text={text.text}
              label={`Text of ${computation}`}
              at={at}
              onPick={(_, line) => {
                const defined = definedBy(line);
                if (defined !== null) onPick(defined);
              }}
            />
          )
        }
      </Loaded>
    </Panel>
  );
}
