import { amount } from "./say";
import type { ColourBy } from "./graph";
import { HEATS, heatFrom } from "./graph";

const TITLES = { time: "Measured time", flops: "FLOPs by shapes", bytes: "Bytes by shapes" } as const;

/** What the colours of the graph say. */
export function HeatLegend({ by, most }: { readonly by: ColourBy; readonly most: number }) {
  return (
    <ul class="legend" aria-label={`Colours: ${TITLES[by]}`}>
      <li>
        <b>{TITLES[by]}</b>
      </li>
      <li>
        <span class="swatch heat-unknown" aria-hidden="true" />
        {by === "time" ? "not measured" : "unknown"}
      </li>
      {most > 0 &&
        Array.from({ length: HEATS }, (_, i) => i + 1).map((step) => (
          <li key={step}>
            <span class={`swatch heat-${step}`} aria-hidden="true" />
            {step === 1 ? `below ${amount(heatFrom(2, most), by)}` : `from ${amount(heatFrom(step, most), by)}`}
          </li>
        ))}
    </ul>
  );
}
