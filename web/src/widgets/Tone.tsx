import { SIGNS, toneOf } from "./tone";
import type { ToneName } from "./tone";

export interface ToneProps {
  readonly word: string | null;
  /** Where the page knows better than the word. */
  readonly tone?: ToneName;
}

/** A verdict: its word with a sign and a colour. */
export function Tone({ word, tone }: ToneProps) {
  const name = tone ?? toneOf(word);
  return (
    <span class={`tone ${name}`}>
      <span class="tone-sign" aria-hidden="true">
        {SIGNS[name]}
      </span>
      {word ?? "unknown"}
    </span>
  );
}
