/** Light, dark, or what the system says. Kept per browser. */

import { effect, signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";

const KEY = "haloscope.theme";

function stored(): Theme {
  try {
    const value = localStorage.getItem(KEY);
    return value === "light" || value === "dark" ? value : "system";
  } catch {
    // Storage may be forbidden; the system's choice is a fine answer.
    return "system";
  }
}

export const theme = signal<Theme>(stored());

const systemDark = matchMedia("(prefers-color-scheme: dark)");
const systemIsDark = signal(systemDark.matches);
systemDark.addEventListener("change", (event) => {
  systemIsDark.value = event.matches;
});

/** What is on the screen now; canvases read their colours again when it changes. */
export const shownTheme = signal<"light" | "dark">("light");

effect(() => {
  const dark = theme.value === "dark" || (theme.value === "system" && systemIsDark.value);
  document.documentElement.dataset["theme"] = dark ? "dark" : "light";
  shownTheme.value = dark ? "dark" : "light";
});

export function setTheme(next: Theme): void {
  theme.value = next;
  try {
    if (next === "system") localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, next);
  } catch {
    // The choice then lasts as long as the page.
  }
}
