/** The quantile of ascending numbers, linear between neighbours; NaN of none. */
export function quantile(sorted: readonly number[], q: number): number {
  const place = q * Math.max(0, sorted.length - 1);
  const low = Math.floor(place);
  const a = sorted[low] ?? Number.NaN;
  const b = sorted[low + 1];
  return b === undefined ? a : a + (b - a) * (place - low);
}
