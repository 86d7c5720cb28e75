/** The run as a file to hand on: the report, a part of it as a smaller profile, and the run under other names. */

import { apiUrl } from "../api/client";
import { placed } from "../api/place";
import { isScoped, scopeParams } from "../state/url";
import { scope } from "../state/route";
import { currentRun, runId } from "../state/runs";
import { Popover } from "../widgets/Popover";

/** Files for so many hosts are offered by name; of more the command line writes all at once. */
const MOST_HOSTS = 8;

interface File {
  readonly label: string;
  readonly href: string;
  readonly tip: string;
}

function filesOf(run: string, hosts: readonly string[]): readonly (readonly [string, readonly File[]])[] {
  const token = new URLSearchParams(location.search).get("token") ?? "";
  const url = (what: string, extra: readonly (readonly [string, string])[]): string =>
    placed(apiUrl("share", [["run", run], ["what", what], ...extra, ["token", token]]));
  const inScope = scopeParams(scope.value);
  const part = isScoped(scope.value) ? "the scope" : "the whole run; narrow the scope to save less";
  const each = (what: string, tip: string, extra: readonly (readonly [string, string])[]): File[] =>
    hosts.slice(0, MOST_HOSTS).map((host) => ({ label: host, href: url(what, [["host", host], ...extra]), tip }));
  return [
    ["Report", [{ label: "One HTML file", href: url("report", inScope), tip: "Shows the run without a server or a network" }]],
    ["Profile", each("slice", `A profile of ${part}`, inScope)],
    [
      "With replaced names",
      [
        ...each("redacted", "The run with names of functions, files and hosts replaced", []),
        { label: "What was replaced", href: url("names", []), tip: "The list of replaced names: keep it private" },
      ],
    ],
  ];
}

/** In the bar at the top; where that is too narrow, at the end of the menu. */
export function SaveButton({ where = "top" }: { readonly where?: "top" | "menu" }) {
  const run = runId.value;
  const hosts = currentRun.value?.hosts ?? [];
  if (run === null) return null;
  return (
    <Popover
      label="Save the run"
      class={`quiet save-button in-${where}`}
      button="Save"
      title="Saves the run as a report or as a profile to share"
    >
      {(close) => (
        <div class="menu save-menu">
          {filesOf(run, hosts).map(([title, files]) => (
            <div key={title} role="group" aria-label={title}>
              <p class="sub">{title}</p>
              {files.map((file) => (
                <a key={file.label} href={file.href} download data-tip={file.tip} onClick={() => setTimeout(close)}>
                  {file.label}
                </a>
              ))}
              {title !== "Report" && hosts.length > MOST_HOSTS && (
                <p class="sub">{`${hosts.length - MOST_HOSTS} more hosts: \`haloscope slice\` and \`redact\` write all`}</p>
              )}
            </div>
          ))}
        </div>
      )}
    </Popover>
  );
}
