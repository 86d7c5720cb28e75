export interface LegendItem {
  readonly name: string;
  readonly colour: string;
}

export function Legend({ items, note = "" }: { readonly items: readonly LegendItem[]; readonly note?: string }) {
  if (items.length === 0 && note === "") return null;
  return (
    <ul class="legend">
      {items.map((item) => (
        <li>
          <span class="swatch" style={{ backgroundColor: item.colour }} aria-hidden="true" />
          {item.name}
        </li>
      ))}
      {note !== "" && <li>{note}</li>}
    </ul>
  );
}
