/** What every number on the page is about: picked here or on any page, kept in the address. */

import { useState } from "preact/hooks";

import { isSteps, stepsIn, stepsText } from "../base/steps";
import { parseWindowText, windowText } from "../base/window";
import { useWholeReport } from "../state/resource";
import { go, scope } from "../state/route";
import { currentRun } from "../state/runs";
import { NO_SCOPE, formatWindow, isScoped } from "../state/url";
import type { PickItem } from "../widgets/Picker";
import { Picker } from "../widgets/Picker";
import { Popover } from "../widgets/Popover";
import { Loading } from "../widgets/States";
import { deviceItems, hostItems, moduleItems, stepItems } from "./choices";

type ListKey = "steps" | "devices" | "modules" | "hosts";

/** A long list says how many it has, a short one which. */
function summary(text: string): string {
  const parts = text.split(",");
  return text.length > 26 && parts.length > 1 ? `${parts[0] ?? ""} and ${parts.length - 1} more` : text;
}

function ScopePicker({ id, hint, content }: { readonly id: ListKey; readonly hint: string; readonly content: () => preact.JSX.Element }) {
  const value = scope.value[id];
  return (
    <span class={value === "" ? "scope-part" : "scope-part set"}>
      <Popover
        label={`Scope: ${id}`}
        class="scope-button"
        title={hint}
        button={
          <>
            <span class="scope-key">{id}</span> <span class="scope-value">{value === "" ? "all" : summary(value)}</span>
            <span class="scope-arrow" aria-hidden="true" />
          </>
        }
      >
        {content}
      </Popover>
      {value !== "" && <ClearPart label={`Clear the ${id}`} onClear={() => go({ scope: { [id]: "" } })} />}
    </span>
  );
}

function ClearPart({ label, onClear }: { readonly label: string; readonly onClear: () => void }) {
  return (
    <button type="button" class="scope-clear" aria-label={label} data-tip={label} onClick={onClear}>
      ×
    </button>
  );
}

/** Names, separated by commas in the address. */
function NamePicker({
  id,
  items,
  loading,
  free,
}: {
  readonly id: ListKey;
  readonly items: readonly PickItem[];
  readonly loading: boolean;
  readonly free: boolean;
}) {
  const chosen = scope.value[id].split(",").filter(Boolean);
  if (loading && items.length === 0) return <Loading what={`the run's ${id}`} />;
  // What the address names stands in the list, whether the run has it or not.
  const all = [...chosen.filter((value) => !items.some((item) => item.value === value)).map((value) => ({ value })), ...items];
  return (
    <Picker
      label={id}
      items={all}
      chosen={chosen}
      onChange={(next) => go({ scope: { [id]: next.join(",") } })}
      placeholder={free ? "type a name or a part of one" : "type to narrow"}
      empty={`This run names no ${id}`}
      {...(free
        ? {
            free: (text: string) => (text.includes(",") || items.some((item) => item.value === text) ? null : `all that contain “${text}”`),
            onFree: (text: string) => go({ scope: { [id]: [...chosen, text].join(",") } }),
          }
        : {})}
    />
  );
}

function Names({ id }: { readonly id: "hosts" | "devices" | "modules" }) {
  const inspect = useWholeReport("inspect");
  const items =
    id === "hosts"
      ? hostItems(inspect.data, currentRun.value?.hosts ?? [])
      : id === "devices"
        ? deviceItems(inspect.data)
        : moduleItems(inspect.data);
  return <NamePicker id={id} items={items} loading={inspect.loading} free={id === "modules"} />;
}

function Steps() {
  const report = useWholeReport("steps");
  const items = stepItems(report.data);
  const known = items.map((item) => Number(item.value));
  if (report.loading && report.data === null) return <Loading what="the run's steps" />;
  return (
    <Picker
      label="steps"
      items={items}
      chosen={stepsIn(scope.value.steps, known).map(String)}
      onChange={(next) => go({ scope: { steps: stepsText(next.map(Number)) } })}
      free={(text) => (isSteps(text) && !known.includes(Number(text)) ? `steps ${text}` : null)}
      onFree={(text) => go({ scope: { steps: text.replaceAll(/\s/g, "") } })}
      placeholder="2-5,9 or a word"
      empty="No steps were found in this run"
    />
  );
}

/** A stretch of time, in any unit. */
function WindowField() {
  const asked = scope.value.window;
  const window = parseWindowText(asked);
  const shown = window === null ? asked : windowText(...window);
  const [wrong, setWrong] = useState(false);
  // What is being typed; null while the field says what the address says.
  const [draft, setDraft] = useState<string | null>(null);
  const commit = (input: HTMLInputElement): void => {
    const text = input.value.trim();
    const read = parseWindowText(text);
    setWrong(text !== "" && read === null);
    if (text !== "" && read === null) return;
    setDraft(null);
    if (text === "") go({ scope: { window: "" } });
    else if (read !== null) go({ scope: { window: formatWindow(...read) } });
  };
  return (
    <span class={asked === "" ? "scope-part" : "scope-part set"}>
      <label class="scope-window">
        <span class="scope-key">window</span>
        <input
          value={draft ?? shown}
          placeholder="all: 1.5ms..20ms"
          size={Math.max(15, (draft ?? shown).length)}
          spellcheck={false}
          autocomplete="off"
          aria-invalid={wrong}
          aria-describedby={wrong ? "window-wrong" : undefined}
          data-tip={
            "Time since the start of the run: START..END, with ps, ns, us, ms or s.\nThe timeline sets it too: drag with Shift, then “Scope to selection”."
          }
          onChange={(event) => commit(event.currentTarget)}
          onInput={(event) => {
            setDraft(event.currentTarget.value);
            setWrong(false);
          }}
        />
      </label>
      {asked !== "" && <ClearPart label="Clear the window" onClear={() => go({ scope: { window: "" } })} />}
      {wrong && (
        <span id="window-wrong" class="scope-wrong" role="alert">
          expected a start and a later end, such as 1.5ms..20ms
        </span>
      )}
    </span>
  );
}

export function ScopeBar() {
  const now = scope.value;
  const hosts = currentRun.value?.hosts ?? [];
  return (
    <form class="scope" role="search" aria-label="Scope of every number on the page" onSubmit={(event) => event.preventDefault()}>
      <span class="scope-title">Scope</span>
      <ScopePicker id="steps" hint="Only some steps, by number" content={() => <Steps />} />
      {(hosts.length > 1 || now.hosts !== "") && <ScopePicker id="hosts" hint="Only some hosts" content={() => <Names id="hosts" />} />}
      <ScopePicker id="devices" hint="Only some devices" content={() => <Names id="devices" />} />
      <ScopePicker id="modules" hint="Only some HLO modules: compiled programs" content={() => <Names id="modules" />} />
      <WindowField />
      <button
        type="button"
        class={now.steady ? "scope-steady set" : "scope-steady"}
        aria-pressed={now.steady}
        data-tip={"Only the steady state: no warm-up, cut steps or outliers.\nEach page says what was left out."}
        onClick={() => go({ scope: { steady: !now.steady } })}
      >
        Steady state
      </button>
      {isScoped(now) && (
        <button type="button" class="quiet" onClick={() => go({ scope: NO_SCOPE })}>
          Clear all
        </button>
      )}
    </form>
  );
}
