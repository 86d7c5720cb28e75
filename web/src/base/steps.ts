/** Sets of step numbers as text: `2-5,9`. Pure. */

const PART = /^(\d+)(?:-(\d+))?$/;

/** True for what the server takes as steps. */
export function isSteps(text: string): boolean {
  return text.split(",").every((part) => {
    const match = PART.exec(part.trim());
    return match !== null && (match[2] === undefined || Number(match[2]) >= Number(match[1]));
  });
}

/** Those of the known steps that the text names. */
export function stepsIn(text: string, known: readonly number[]): number[] {
  const ranges = text.split(",").flatMap((part): [number, number][] => {
    const match = PART.exec(part.trim());
    return match === null ? [] : [[Number(match[1]), Number(match[2] ?? match[1])]];
  });
  return known.filter((step) => ranges.some(([from, to]) => step >= from && step <= to));
}

/** The shortest text for a set: runs of neighbours become ranges. */
export function stepsText(steps: readonly number[]): string {
  const sorted = [...new Set(steps)].sort((a, b) => a - b);
  const parts: string[] = [];
  for (let i = 0; i < sorted.length; i += 1) {
    const from = sorted[i] ?? 0;
    while (sorted[i + 1] === (sorted[i] ?? 0) + 1) i += 1;
    const to = sorted[i] ?? from;
    parts.push(from === to ? String(from) : `${from}-${to}`);
  }
  return parts.join(",");
}
