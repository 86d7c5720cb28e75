/** Where stacked bars lie. Pure. */

export interface StackPart {
  readonly name: string;
  readonly value: number;
  readonly colour: string;
}

export interface Stack {
  /** What stands below it, such as a step's number. */
  readonly label: string;
  /** From the bottom up. */
  readonly parts: readonly StackPart[];
}

export interface Layer {
  readonly name: string;
  readonly colour: string;
  /** One path for all bars: thousands of steps stay smooth. */
  readonly path: string;
  /** Of its values. */
  readonly sum: number;
}

export interface Plot {
  readonly left: number;
  readonly right: number;
  readonly y: (value: number) => number;
}

export function total(stack: Stack): number {
  return stack.parts.reduce((sum, part) => sum + part.value, 0);
}

/** A layer a name, in the order in which names are first met from the bottom up. */
export function layers(stacks: readonly Stack[], plot: Plot): Layer[] {
  const found = new Map<string, { colour: string; path: string; sum: number }>();
  const slot = (plot.right - plot.left) / Math.max(1, stacks.length);
  const gap = slot > 4 ? Math.min(6, slot * 0.2) : 0;
  stacks.forEach((stack, i) => {
    let below = 0;
    const x = plot.left + i * slot + gap / 2;
    for (const part of stack.parts) {
      const from = plot.y(below);
      below += part.value;
      const to = plot.y(below);
      const layer = found.get(part.name) ?? { colour: part.colour, path: "", sum: 0 };
      layer.sum += part.value;
      layer.path += `M${x.toFixed(1)} ${from.toFixed(1)}h${(slot - gap).toFixed(2)}V${to.toFixed(1)}h${(gap - slot).toFixed(2)}z`;
      found.set(part.name, layer);
    }
  });
  return [...found].map(([name, layer]) => ({ name, ...layer }));
}

/** The stack at this place, or null beside the plot. */
export function stackAt(x: number, count: number, plot: Plot): number | null {
  if (count === 0 || x < plot.left || x >= plot.right) return null;
  return Math.min(count - 1, Math.floor(((x - plot.left) / (plot.right - plot.left)) * count));
}

/** Places of labels, thinned so that each has room. */
export function labelled(count: number, width: number, room: number): number[] {
  const every = Math.max(1, Math.ceil((count * room) / Math.max(1, width)));
  return Array.from({ length: Math.ceil(count / every) }, (_, i) => i * every);
}
