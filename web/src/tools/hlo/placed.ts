/** What the layout is asked and what it answers, and questions about the answer. Pure, and without dagre. */

export interface SizedNode {
  readonly id: string;
  readonly width: number;
  readonly height: number;
  /** The call that it is shown inside of, or empty. */
  readonly inside: string;
}

export interface LayoutQuestion {
  readonly nodes: readonly SizedNode[];
  readonly edges: readonly { readonly from: string; readonly to: string; readonly count: number }[];
}

export interface PlacedNode {
  readonly id: string;
  /** The left upper corner. */
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface PlacedEdge {
  readonly from: string;
  readonly to: string;
  readonly count: number;
  readonly points: readonly (readonly [number, number])[];
}

export interface LayoutAnswer {
  readonly width: number;
  readonly height: number;
  readonly nodes: readonly PlacedNode[];
  readonly frames: readonly PlacedNode[];
  readonly edges: readonly PlacedEdge[];
}

/** A soft line through the points: straight at both ends, bent at those between. */
export function edgePath(points: readonly (readonly [number, number])[]): string {
  const [first, ...rest] = points;
  if (first === undefined) return "";
  const at = ([x, y]: readonly [number, number]): string => `${x.toFixed(1)} ${y.toFixed(1)}`;
  let path = `M${at(first)}`;
  rest.forEach((point, i) => {
    const next = rest[i + 1];
    if (next === undefined) path += `L${at(point)}`;
    else path += `Q${at(point)} ${at([(point[0] + next[0]) / 2, (point[1] + next[1]) / 2])}`;
  });
  return path;
}

export type Way = "up" | "down" | "left" | "right";

/** The node to go to from another one by an arrow key: the nearest ahead, where a step ahead counts more than one aside, so
 * that ranks are not jumped over. */
export function towards(nodes: readonly PlacedNode[], from: string, way: Way): string | null {
  const start = nodes.find((node) => node.id === from);
  if (start === undefined) return nodes[0]?.id ?? null;
  const centre = (node: PlacedNode): [number, number] => [node.x + node.width / 2, node.y + node.height / 2];
  const [x0, y0] = centre(start);
  let best: string | null = null;
  let bestCost = Number.POSITIVE_INFINITY;
  for (const node of nodes) {
    if (node.id === from) continue;
    const [x, y] = centre(node);
    const dx = x - x0;
    const dy = y - y0;
    const ahead = way === "up" ? -dy : way === "down" ? dy : way === "left" ? -dx : dx;
    const aside = way === "up" || way === "down" ? Math.abs(dx) : Math.abs(dy);
    if (ahead <= 1) continue;
    const cost = ahead * 2 + aside;
    if (cost < bestCost) {
      best = node.id;
      bestCost = cost;
    }
  }
  return best;
}

/** Where the drawing is: a point `p` of it is shown at `p * scale + (x, y)`. */
export interface Pose {
  readonly x: number;
  readonly y: number;
  readonly scale: number;
}

export const SMALLEST_SCALE = 0.04;
export const LARGEST_SCALE = 2.5;

/** Scales about a point of the window. */
export function zoomPose(pose: Pose, factor: number, x: number, y: number): Pose {
  const scale = Math.min(LARGEST_SCALE, Math.max(SMALLEST_SCALE, pose.scale * factor));
  const by = scale / pose.scale;
  return { scale, x: x - (x - pose.x) * by, y: y - (y - pose.y) * by };
}

/** All of a drawing in a window, in its middle, never larger than life. */
export function fitPose(drawing: { width: number; height: number }, window: { width: number; height: number }, air = 12): Pose {
  const scale = Math.min(
    1,
    Math.max(SMALLEST_SCALE, Math.min((window.width - 2 * air) / (drawing.width || 1), (window.height - 2 * air) / (drawing.height || 1))),
  );
  return { scale, x: (window.width - drawing.width * scale) / 2, y: (window.height - drawing.height * scale) / 2 };
}

/** A node in the middle of a window. */
export function centrePose(node: PlacedNode, scale: number, window: { width: number; height: number }): Pose {
  return { scale, x: window.width / 2 - (node.x + node.width / 2) * scale, y: window.height / 2 - (node.y + node.height / 2) * scale };
}

/** Moves a pose as little as brings a node into the window. */
export function revealPose(pose: Pose, node: PlacedNode, window: { width: number; height: number }, air = 16): Pose {
  const shift = (low: number, high: number, room: number): number =>
    high - low > room - 2 * air ? (room - low - high) / 2 : low < air ? air - low : high > room - air ? room - air - high : 0;
  const left = node.x * pose.scale + pose.x;
  const top = node.y * pose.scale + pose.y;
  return {
    scale: pose.scale,
    x: pose.x + shift(left, left + node.width * pose.scale, window.width),
    y: pose.y + shift(top, top + node.height * pose.scale, window.height),
  };
}
