/** The graph as SVG. The layout comes from a worker; moves only change one transform, so nothing is drawn again for them. */

import type { VNode } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";

import { useSize } from "../../widgets/useSize";
import { keepEnds } from "../../widgets/timeline/slices";
import type { Drawn, Folded } from "./fold";
import type { ColourBy } from "./graph";
import { heat } from "./graph";
import type { LayoutAnswer, LayoutQuestion, PlacedNode, Pose, Way } from "./placed";
import { centrePose, edgePath, fitPose, revealPose, towards, zoomPose } from "./placed";
import { bindPanZoom } from "./panzoom";
import { useLayout } from "./useLayout";

const HEIGHT = 42;
const CHAR = 6.7;
const LONGEST = 30;
/** Below this scale letters are too small to read and are left out. */
const FAR = 0.4;
const READABLE = 0.6;

export interface GraphViewProps {
  readonly folded: Folded;
  readonly colourBy: ColourBy;
  /** The largest value of a node, which has the strongest colour. */
  readonly most: number;
  /** The drawn node with the details beside it. */
  readonly selected: string;
  readonly centre: string;
  /** Drawn nodes on the path, in its order; empty without one. */
  readonly path: readonly string[];
  readonly describe: (node: Drawn) => string;
  readonly onSelect: (node: Drawn) => void;
  readonly onCentre: (node: Drawn) => void;
  readonly onToggle: (node: Drawn) => void;
}

export function valueBy(node: { timePs: number | null; flops: number | null; bytes: number | null }, by: ColourBy): number | null {
  return by === "time" ? node.timePs : by === "flops" ? node.flops : node.bytes;
}

function questionOf(folded: Folded): LayoutQuestion {
  const nodes = folded.nodes.map((node) => {
    const letters = Math.max(Math.min(node.label.length, LONGEST), Math.min(node.note.length, LONGEST));
    const width = Math.max(64, Math.ceil(letters * CHAR) + 20 + (node.folded ? 20 : 0) + (node.times > 1 ? 34 : 0));
    return { id: node.id, width, height: HEIGHT, inside: node.inside };
  });
  return { nodes, edges: folded.edges };
}

export function GraphView(props: GraphViewProps) {
  const { folded, selected, centre } = props;
  const [ref, size] = useSize<HTMLDivElement>();
  const drawing = useRef<SVGGElement>(null);
  const svg = useRef<SVGSVGElement>(null);
  const pose = useRef<Pose>({ x: 0, y: 0, scale: 1 });
  const shown = useRef<{ answer: LayoutAnswer; centre: string } | null>(null);
  const question = useMemo(() => questionOf(folded), [folded]);
  const { answer, busy, error } = useLayout(question);
  const drawn = useMemo(() => new Map(folded.nodes.map((node) => [node.id, node])), [folded]);

  const look = (next: Pose): void => {
    pose.current = next;
    drawing.current?.setAttribute("transform", `translate(${next.x.toFixed(2)} ${next.y.toFixed(2)}) scale(${next.scale.toFixed(4)})`);
    svg.current?.classList.toggle("far", next.scale < FAR);
  };
  const fit = (): void => {
    if (answer !== null) look(fitPose(answer, size));
  };
  const placeOf = (id: string): PlacedNode | undefined => answer?.nodes.find((node) => node.id === id);

  // A new graph is shown whole where that is readable, else around its centre. What unfolds does so in its place.
  useLayoutEffect(() => {
    if (answer === null || size.width === 0) return;
    const before = shown.current;
    shown.current = { answer, centre };
    const old = before?.answer.nodes.find((node) => node.id === selected);
    const now = placeOf(selected);
    if (before !== null && before.answer === answer) return;
    if (before !== null && before.centre === centre && old !== undefined && now !== undefined) {
      const { x, y, scale } = pose.current;
      look({ scale, x: x + (old.x - now.x) * scale, y: y + (old.y - now.y) * scale });
      return;
    }
    const whole = fitPose(answer, size);
    const middle = placeOf(selected) ?? placeOf(centre);
    look(whole.scale >= READABLE || middle === undefined ? whole : centrePose(middle, READABLE + 0.2, size));
  }, [answer, size.width, size.height]);

  // What is picked elsewhere comes into sight.
  useEffect(() => {
    const place = placeOf(selected);
    if (place !== undefined && size.width > 0) look(revealPose(pose.current, place, size));
  }, [selected]);

  const act = useRef({ look, pick: (_id: string, _twice: boolean, _badge: boolean) => {} });
  act.current = {
    look,
    pick: (id, twice, badge) => {
      const node = drawn.get(id);
      if (node === undefined) return;
      if (badge || node.kind !== "instruction") props.onToggle(node);
      else if (twice) props.onCentre(node);
      else props.onSelect(node);
    },
  };
  useEffect(() => {
    if (ref.current === null) return undefined;
    return bindPanZoom(ref.current, {
      pose: () => pose.current,
      look: (next) => act.current.look(next),
      pick: (id, twice, badge) => act.current.pick(id, twice, badge),
    });
  }, []);

  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target !== event.currentTarget) return;
    const ways: Record<string, Way> = { ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right" };
    const way = ways[event.key];
    const node = drawn.get(selected);
    const zoom = (factor: number): void => look(zoomPose(pose.current, factor, size.width / 2, size.height / 2));
    if (way !== undefined && event.shiftKey) {
      const by = { up: [0, 60], down: [0, -60], left: [60, 0], right: [-60, 0] }[way] as [number, number];
      look({ ...pose.current, x: pose.current.x + by[0], y: pose.current.y + by[1] });
    } else if (way !== undefined) {
      const next = drawn.get(towards(answer?.nodes ?? [], selected, way) ?? "");
      if (next !== undefined) props.onSelect(next);
    } else if (event.key === "+" || event.key === "=") zoom(1.25);
    else if (event.key === "-") zoom(0.8);
    else if (event.key === "f") fit();
    else if (event.key === "Enter" && node !== undefined) props.onCentre(node);
    else if (event.key === " " && node !== undefined) props.onToggle(node);
    else return;
    event.preventDefault();
  };

  const current = drawn.get(selected);
  return (
    <div class="graph-box">
      <div
        class="graph"
        ref={ref}
        tabIndex={0}
        role="application"
        aria-label="Graph. Arrows go from node to node, Enter draws around the node, Space unfolds or folds it, plus and minus zoom, F shows all, Shift with arrows moves."
        aria-busy={busy}
        onKeyDown={onKeyDown}
      >
        <svg ref={svg} width={size.width} height={size.height} aria-hidden="true">
          <defs>
            <marker
              id="arrow"
              viewBox="0 0 8 8"
              refX="7"
              refY="4"
              markerWidth="9"
              markerHeight="9"
              markerUnits="userSpaceOnUse"
              orient="auto-start-reverse"
            >
              <path d="M0 1L7 4L0 7Z" />
            </marker>
          </defs>
          <g ref={drawing}>
            {answer !== null && <Frames answer={answer} />}
            {answer !== null && <Edges answer={answer} path={props.path} />}
            {answer?.nodes.map((place) => {
              const node = drawn.get(place.id);
              return node === undefined ? null : <Node key={place.id} node={node} place={place} {...props} />;
            })}
          </g>
        </svg>
      </div>
      <div class="graph-tools">
        <button
          type="button"
          aria-label="Zoom in"
          data-tip="Zoom in (+)"
          onClick={() => look(zoomPose(pose.current, 1.25, size.width / 2, size.height / 2))}
        >
          +
        </button>
        <button
          type="button"
          aria-label="Zoom out"
          data-tip="Zoom out (-)"
          onClick={() => look(zoomPose(pose.current, 0.8, size.width / 2, size.height / 2))}
        >
          −
        </button>
        <button type="button" data-tip="Show all (F)" onClick={fit}>
          Fit
        </button>
      </div>
      {busy && error === "" && (
        <p class="graph-busy" role="status">
          Laying out…
        </p>
      )}
      {error !== "" && (
        <p class="graph-busy" role="alert">
          {error}
        </p>
      )}
      <p class="visually-hidden" aria-live="polite">
        {current === undefined ? "" : props.describe(current)}
      </p>
    </div>
  );
}

function Frames({ answer }: { readonly answer: LayoutAnswer }) {
  return (
    <>
      {answer.frames.map(({ id, x, y, width, height }) => (
        <g key={id} class="graph-frame">
          <rect x={x} y={y} width={width} height={height} rx={6} />
          <text x={x + 6} y={y - 4}>
            {id}
          </text>
        </g>
      ))}
    </>
  );
}

function Edges({ answer, path }: { readonly answer: LayoutAnswer; readonly path: readonly string[] }): VNode {
  const steps = useMemo(() => new Set(path.slice(1).flatMap((to, i) => [`${path[i]}\n${to}`, `${to}\n${path[i]}`])), [path]);
  return useMemo(
    () => (
      <g class="graph-edges">
        {answer.edges.map(({ from, to, points }) => (
          <path
            key={`${from}\n${to}`}
            class={steps.has(`${from}\n${to}`) ? "on-path" : undefined}
            d={edgePath(points)}
            marker-end="url(#arrow)"
          />
        ))}
      </g>
    ),
    [answer, steps],
  );
}

interface NodeProps extends GraphViewProps {
  readonly node: Drawn;
  readonly place: PlacedNode;
}

function Node({ node, place, colourBy, most, selected, centre, path, describe }: NodeProps) {
  const { x, y, width, height } = place;
  const step = heat(valueBy(node, colourBy), most);
  const classes = [
    "graph-node",
    step < 0 ? "heat-unknown" : `heat-${step}`,
    node.id === selected ? "selected" : "",
    node.id === centre ? "centre" : "",
    path.includes(node.id) ? "on-path" : "",
  ];
  return (
    <g class={classes.filter((one) => one !== "").join(" ")} data-id={node.id} transform={`translate(${x.toFixed(1)} ${y.toFixed(1)})`}>
      <title>{describe(node)}</title>
      {node.times > 1 && <rect class="behind" x={4} y={4} width={width} height={height} rx={node.kind === "instruction" ? 5 : 12} />}
      <rect width={width} height={height} rx={node.kind === "instruction" ? 5 : 12} />
      <text class="graph-label" x={10} y={17}>
        {keepEnds(node.label, LONGEST)}
      </text>
      <text class="graph-note" x={10} y={33}>
        {keepEnds(node.note, LONGEST)}
      </text>
      {node.times > 1 && (
        <text class="graph-times" x={width - 28} y={26} text-anchor="end">
          {`×${node.times}`}
        </text>
      )}
      {(node.folded || node.members.length > 1) && (
        <g class="graph-badge" data-badge="1">
          <rect x={width - 22} y={12} width={17} height={17} rx={3} />
          <path d={`M${width - 18} 20.5h9${node.folded ? "m-4.5 -4.5v9" : ""}`} />
        </g>
      )}
    </g>
  );
}
