import type { Theme } from "../state/theme";
import { setTheme, theme } from "../state/theme";

const NEXT: Record<Theme, Theme> = { system: "light", light: "dark", dark: "system" };
const NAMES: Record<Theme, string> = { system: "Auto", light: "Light", dark: "Dark" };

export function ThemeButton() {
  const now = theme.value;
  return (
    <button
      type="button"
      class="quiet"
      onClick={() => setTheme(NEXT[now])}
      data-tip="Colours: same as system, light, dark"
      aria-label={`Colours: ${NAMES[now]}. Change to ${NAMES[NEXT[now]]}`}
    >
      {NAMES[now]}
    </button>
  );
}
