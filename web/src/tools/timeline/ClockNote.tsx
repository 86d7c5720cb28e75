import type { Clock } from "../../api/timeline";
import { UNKNOWN, formatDuration, formatInt } from "../../base/format";

/** How far the hosts' clocks stand apart, and how well that is known. */
export function ClockNote({ clock }: { readonly clock: Clock }) {
  const worst = Math.max(...clock.hosts.map((host) => host.uncertainty_ps ?? 0));
  const unknown = clock.hosts.filter((host) => host.offset_ps === null).length;
  const summary =
    unknown > 0
      ? `Clocks: ${unknown} of ${clock.hosts.length} hosts are not aligned`
      : `Clocks of ${clock.hosts.length} hosts, known to ± ${formatDuration(worst, 3)}`;
  return (
    <details class="tl-clock">
      <summary>{summary}</summary>
      <table class="data plain">
        <thead>
          <tr>
            <th scope="col">host</th>
            <th scope="col" class="num">
              offset
            </th>
            <th scope="col" class="num">
              uncertainty
            </th>
            <th scope="col" class="num">
              samples
            </th>
            <th scope="col">method</th>
          </tr>
        </thead>
        <tbody>
          {clock.hosts.map((host) => (
            <tr>
              <th scope="row">{host.host}</th>
              <td class="num">{host.offset_ps === null ? UNKNOWN : formatDuration(host.offset_ps)}</td>
              <td class="num">{host.uncertainty_ps === null ? UNKNOWN : `± ${formatDuration(host.uncertainty_ps, 3)}`}</td>
              <td class="num">{host.samples === null ? "" : formatInt(host.samples)}</td>
              <td>{host.method ?? UNKNOWN}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {clock.note !== null && clock.note !== "" && <p class="sub">{clock.note}</p>}
    </details>
  );
}
