export interface TabsProps {
  readonly label: string;
  readonly tabs: readonly { readonly id: string; readonly label: string }[];
  readonly selected: string;
  readonly onSelect: (id: string) => void;
}

/** A row of exclusive choices. Buttons with a pressed state: what they switch is near, not hidden panels. */
export function Tabs({ label, tabs, selected, onSelect }: TabsProps) {
  if (tabs.length < 2) return null;
  return (
    <div class="tabs" role="group" aria-label={label}>
      {tabs.map((tab) => (
        <button type="button" aria-pressed={tab.id === selected} onClick={() => onSelect(tab.id)}>
          {tab.label}
        </button>
      ))}
    </div>
  );
}
