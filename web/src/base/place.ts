/** A place in a program's source as reports write it. Pure. */

export interface Place {
  readonly file: string;
  /** Empty where only the file is known. */
  readonly line: string;
}

/** `models.py:49` or `models.py:49:7`; null for an empty text. */
export function placeOf(text: string): Place | null {
  const [, file = "", line = ""] = /^(.*?)(?::(\d+))?(?::\d+)?$/.exec(text) ?? [];
  return file === "" ? null : { file, line };
}
