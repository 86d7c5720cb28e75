/** What every number on the page is about. */

import { formatDuration } from "../base/format";
import { go, scope } from "../state/route";
import { currentRun } from "../state/runs";
import type { Scope } from "../state/url";
import { NO_SCOPE, isScoped, parseWindow } from "../state/url";

type TextKey = "steps" | "devices" | "modules" | "hosts";

function ScopeField({
  id,
  label,
  hint,
  list,
}: {
  readonly id: TextKey;
  readonly label: string;
  readonly hint: string;
  readonly list?: readonly string[];
}) {
  const value = scope.value[id];
  const commit = (next: string): void => {
    const change: Partial<Scope> = { [id]: next.trim().replace(/\s*,\s*/g, ",") };
    go({ scope: change });
  };
  return (
    <label class={value === "" ? "field" : "field set"} title={hint}>
      <span>{label}</span>
      <input
        value={value}
        placeholder="all"
        size={9}
        spellcheck={false}
        autocomplete="off"
        list={list === undefined ? undefined : `scope-${id}`}
        onChange={(event) => commit(event.currentTarget.value)}
      />
      {list !== undefined && (
        <datalist id={`scope-${id}`}>
          {list.map((item) => (
            <option value={item} />
          ))}
        </datalist>
      )}
    </label>
  );
}

export function ScopeBar() {
  const now = scope.value;
  const hosts = currentRun.value?.hosts ?? [];
  const window = parseWindow(now.window);
  return (
    <form class="scope" role="search" aria-label="Scope of every number on the page" onSubmit={(event) => event.preventDefault()}>
      <span class="scope-title">Scope</span>
      <ScopeField id="steps" label="steps" hint="Steps by number: 2-5,9" />
      {(hosts.length > 1 || now.hosts !== "") && <ScopeField id="hosts" label="hosts" hint="Host names, comma separated" list={hosts} />}
      <ScopeField id="devices" label="devices" hint="Devices, comma separated" />
      <ScopeField id="modules" label="modules" hint="HLO modules by name, comma separated" />
      <label class={now.steady ? "field check set" : "field check"} title="Only the steady state: without warm-up, cut and outlying steps">
        <input type="checkbox" checked={now.steady} onChange={(event) => go({ scope: { steady: event.currentTarget.checked } })} />
        <span>steady only</span>
      </label>
      {now.window !== "" && (
        <span class="chip" title={now.window}>
          {window === null ? `window ${now.window}` : `window ${formatDuration(window[0], 3)} to ${formatDuration(window[1], 3)}`}
          <button type="button" aria-label="Clear the window" onClick={() => go({ scope: { window: "" } })}>
            ×
          </button>
        </span>
      )}
      {isScoped(now) && (
        <button type="button" class="quiet" onClick={() => go({ scope: NO_SCOPE })}>
          Clear
        </button>
      )}
    </form>
  );
}
