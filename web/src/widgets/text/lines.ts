/** Lines of a text. Pure. */

/** Without the empty one that a newline at the end would make. */
export function splitLines(text: string): string[] {
  const lines = text.split("\n");
  if (lines.length > 1 && lines[lines.length - 1] === "") lines.pop();
  return lines;
}

/** The longest line, in characters. */
export function widest(lines: readonly string[]): number {
  let width = 0;
  for (const line of lines) width = Math.max(width, line.length);
  return width;
}

/** The instruction that a line of HLO text defines: `  ROOT %fusion.3 = f32[8]{0} fusion(…)` gives `fusion.3`. */
export function definedBy(line: string): string | null {
  const match = /^\s*(?:ROOT )?%?([\w.-]+) = /.exec(line);
  return match?.[1] ?? null;
}

/** The line that defines an instruction, or -1. */
export function lineOf(lines: readonly string[], instruction: string): number {
  return instruction === "" ? -1 : lines.findIndex((line) => definedBy(line) === instruction);
}
