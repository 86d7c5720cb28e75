export interface TipProps {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly title: string;
  readonly lines: readonly (readonly [string, string])[];
}

/** What is under the pointer, kept inside the chart. */
export function Tip({ x, y, width, title, lines }: TipProps) {
  const right = x > width / 2;
  const style = right ? { right: `${width - x + 12}px`, top: `${y}px` } : { left: `${x + 12}px`, top: `${y}px` };
  return (
    <div class="tip" style={style} aria-hidden="true">
      <strong>{title}</strong>
      {lines.map(([name, value]) => (
        <div class="tip-line">
          <span>{name}</span>
          <span>{value}</span>
        </div>
      ))}
    </div>
  );
}
