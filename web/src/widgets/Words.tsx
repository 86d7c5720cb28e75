/** A sentence of the server's; what stands between backticks is code. */
export function Words({ text }: { readonly text: string }) {
  const parts = text.split("`");
  // An odd number of backticks is no code at all.
  if (parts.length % 2 === 0) return <>{text}</>;
  return <>{parts.map((part, i) => (i % 2 === 1 ? <code key={i}>{part}</code> : part))}</>;
}
