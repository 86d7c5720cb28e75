/** A search as a person writes it, and as the server takes it. Pure. */

export interface SearchForm {
  readonly text: string;
  readonly regex: boolean;
  /** Whether the text is the whole name: `fusion.12` and not `fusion.126`. */
  readonly exact: boolean;
  /** `name`, `name:text`, `name>number` or `name<number`. */
  readonly stat: string;
  /** Durations such as `10us`. */
  readonly min: string;
  readonly max: string;
}

export const NO_SEARCH: SearchForm = { text: "", regex: false, exact: false, stat: "", min: "", max: "" };

export function isSearch(form: SearchForm): boolean {
  return form.text !== "" || form.stat !== "" || form.min !== "" || form.max !== "";
}

const DURATION = /^\s*(\d+(?:\.\d+)?(?:e-?\d+)?)\s*(ps|ns|us|µs|ms|s)?\s*$/i;

/** The duration as the server takes it; null where it is none. A number alone is microseconds, the unit people think in. */
export function serverDuration(text: string): string | null {
  if (text.trim() === "") return "";
  const match = DURATION.exec(text);
  if (match === null) return null;
  const unit = (match[2] ?? "us").toLowerCase().replace("µ", "u");
  return `${match[1]}${unit}`;
}

/** What is wrong with the form, in words; null when it can be asked. */
export function complaint(form: SearchForm): string | null {
  for (const [name, text] of [
    ["Longer than", form.min],
    ["Shorter than", form.max],
  ] as const) {
    if (serverDuration(text) === null) return `${name}: “${text}” is not a duration. Write 250ns, 10us, 1.5ms or 2s.`;
  }
  if (form.regex && form.text !== "") {
    try {
      new RegExp(form.text);
    } catch {
      return `“${form.text}” is not a complete regular expression yet.`;
    }
  }
  return null;
}

export function searchParams(form: SearchForm): [string, string][] {
  const params: [string, string][] = [
    ["q", form.text],
    ["regex", form.regex && form.text !== "" ? "1" : ""],
    ["exact", form.exact && !form.regex && form.text !== "" ? "1" : ""],
    ["stat", form.stat.trim()],
    ["min", serverDuration(form.min) ?? ""],
    ["max", serverDuration(form.max) ?? ""],
  ];
  return params.filter(([, value]) => value !== "");
}

export function readSearch(params: Readonly<Record<string, string>>): SearchForm {
  return {
    text: params["q"] ?? "",
    regex: params["re"] === "1",
    exact: params["exact"] === "1",
    stat: params["stat"] ?? "",
    min: params["min"] ?? "",
    max: params["max"] ?? "",
  };
}

export function writeSearch(form: SearchForm): Record<string, string> {
  return { q: form.text, re: form.regex ? "1" : "", exact: form.exact ? "1" : "", stat: form.stat, min: form.min, max: form.max };
}

/** Matches one name and no other. */
export function exactName(name: string): SearchForm {
  return { ...NO_SEARCH, text: name, exact: true };
}
