/** Compute against memory: the four cases, and which of them this run is. */

import type { Quarter } from "./read";

export function Quadrant({ quarters }: { readonly quarters: readonly Quarter[] }) {
  return (
    <div class="quadrant">
      <span class="quadrant-axis up">compute ↑</span>
      <ul>
        {quarters.map((one) => (
          <li class={one.holds === true ? "here" : undefined} key={one.means}>
            <p class="quadrant-pair">
              {`compute ${one.compute}, memory ${one.memory}`}
              {one.holds === true && <b> ● this run</b>}
            </p>
            <p class="quadrant-means">{one.means}</p>
            <p class="sub">{one.next}</p>
          </li>
        ))}
      </ul>
      <span class="quadrant-axis">memory →</span>
    </div>
  );
}
