import { useEffect, useMemo, useState } from "preact/hooks";

import type { Runs } from "../api/types";
import { captureIsOpen } from "../state/capture";
import { offer } from "../state/commands";
import { setTheme } from "../state/theme";
import { NO_SCOPE, formatRoute } from "../state/url";
import { formatDate } from "../base/format";
import { follow, go, hrefOf, page, route } from "../state/route";
import { useAnalyses, useRuns } from "../state/resource";
import { follow as followListing } from "../state/listing";
import { runId, runs as runsSignal } from "../state/runs";
import { UNSCOPED, pagesFor } from "../tools/pages";
import { isTyping } from "../widgets/timeline/input";
import { Empty, ErrorBox, Loading } from "../widgets/States";
import { CaptureButton, CaptureLayer } from "./capture/CaptureButton";
import { DropLayer } from "./DropLayer";
import { FindButton, FindLayer } from "./find/Find";
import { Help } from "./Help";
import { LazyPage } from "./LazyPage";
import { LinkButton } from "./LinkButton";
import { Menu } from "./Menu";
import { ReadingBanner } from "./ReadingBanner";
import { RunPicker } from "./RunPicker";
import { SaveButton } from "./SaveButton";
import { ScopeBar } from "./ScopeBar";
import { ThemeButton } from "./ThemeButton";
import { TipLayer } from "./TipLayer";

export function App() {
  const runs = useRuns();
  const analyses = useAnalyses();
  const [help, setHelp] = useState(false);
  const pages = useMemo(() => (analyses.data === null ? [] : pagesFor(analyses.data)), [analyses.data]);
  const current = pages.find((entry) => entry.info.id === page.value) ?? null;

  useEffect(() => {
    runsSignal.value = runs.data;
  }, [runs.data]);
  useEffect(followListing, []);
  useEffect(() => {
    document.title = [current?.title, runId.value, "Haloscope"]
      .filter((part) => part !== null && part !== undefined && part !== "")
      .join(" · ");
  }, [current?.title, runId.value]);
  useEffect(() => {
    scrollTo(0, 0);
  }, [page.value, pages.length]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (isTyping(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "?") setHelp(true);
      // On the timeline digits choose what a drag does.
      else if (/^[1-9]$/.test(event.key) && page.value !== "timeline") {
        const entry = pages.filter((one) => one.under === undefined)[Number(event.key) - 1];
        if (entry !== undefined) go({ page: entry.info.id });
      }
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  });
  useEffect(
    () =>
      offer([
        { label: "Help and keys", key: "?", run: () => setHelp(true) },
        { label: "Colours: light", run: () => setTheme("light") },
        { label: "Colours: dark", run: () => setTheme("dark") },
        { label: "Colours: same as system", run: () => setTheme("system") },
        { label: "Scope: steady state only", run: () => go({ scope: { steady: true } }) },
        { label: "Scope: clear", run: () => go({ scope: NO_SCOPE }) },
      ]),
    [],
  );
  useEffect(() => {
    // Links to pages of ours carry data-nav; a plain click moves without loading the page again.
    const onClick = (event: MouseEvent): void => {
      const link = event.target instanceof Element ? event.target.closest("a[data-nav]") : null;
      if (link === null || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      follow(link.getAttribute("href") ?? "");
    };
    addEventListener("click", onClick);
    return () => removeEventListener("click", onClick);
  }, []);

  const listed = runsSignal.value ?? runs.data;
  const embedded = route.value.embed;
  // A file that somebody else dropped is no run of the place.
  const noRuns = listed !== null && listed.runs.every((run) => run.dropped === true) && route.value.run === "";
  return (
    <div class={embedded ? "shell embedded" : "shell"}>
      <a class="skip" href="#main">
        Skip to the page
      </a>
      {embedded && (
        <a class="embed-out" href={formatRoute({ ...route.value, embed: false })} target="_blank" rel="noreferrer">
          Open in its own window
        </a>
      )}
      {!embedded && <Top runs={listed} canCapture={analyses.data?.capture === true} onHelp={() => setHelp(true)} />}
      {!embedded && <Menu pages={pages} current={current} version={listed?.version ?? ""} />}
      <div class="content">
        {!UNSCOPED.has(page.value) && <ScopeBar />}
        <main id="main" tabIndex={-1}>
          {runs.error !== null && <ErrorBox error={runs.error} reload={runs.reload} />}
          {noRuns && <NoRuns logdir={listed?.logdir ?? ""} canCapture={analyses.data?.capture === true} />}
          {listed?.stale != null && <StaleRuns since={listed.stale.since_ms} why={listed.stale.why} />}
          <ReadingBanner />
          {runId.value !== null && current !== null && <LazyPage key={current.info.id} entry={current} />}
          {current === null && analyses.loading && <Loading what="the list of pages" />}
          {current === null && !analyses.loading && <Empty>{`There is no page “${page.value}”.`}</Empty>}
          {runId.value === null && runs.loading && <Loading what="the list of runs" />}
        </main>
      </div>
      <TipLayer />
      <CaptureLayer />
      <FindLayer pages={pages} />
      <DropLayer />
      {help && <Help onClose={() => setHelp(false)} />}
    </div>
  );
}

/** The bar at the top: which run, and what can be done on every page. */
function Top({ runs, canCapture, onHelp }: { readonly runs: Runs | null; readonly canCapture: boolean; readonly onHelp: () => void }) {
  return (
    <header class="top">
      <a class="brand" href={hrefOf({ page: "overview" })} data-nav="overview" aria-label="Haloscope: overview">
        <Mark />
        <span>Haloscope</span>
      </a>
      <RunPicker runs={runs} />
      <div class="top-actions">
        {canCapture && <CaptureButton />}
        <FindButton />
        <LinkButton />
        <SaveButton />
        <ThemeButton />
        <button type="button" class="quiet icon" onClick={onHelp} aria-label="Help and keys" data-tip="Help and keys (?)">
          ?
        </button>
      </div>
    </header>
  );
}

function StaleRuns({ since, why }: { readonly since: number; readonly why: string }) {
  return (
    <div class="notice" role="status">
      <p class="notice-title">The list of runs is an older one</p>
      <p>{`It is of ${formatDate(since)}: ${why}`}</p>
    </div>
  );
}

function NoRuns({ logdir, canCapture }: { readonly logdir: string; readonly canCapture: boolean }) {
  return (
    <div class="notice">
      <p class="notice-title">No profiles found</p>
      <p>
        Nothing under <code>{logdir}</code> ends in <code>.xplane.pb</code>. Record one with <code>jax.profiler.trace("{logdir}")</code>, or
        start with <code>haloscope demo</code>. A profile that you have can be dropped on this page.
      </p>
      {canCapture && (
        <button type="button" onClick={() => (captureIsOpen.value = true)}>
          Capture one from a running program
        </button>
      )}
    </div>
  );
}

function Mark() {
  return (
    <svg class="mark" viewBox="0 0 32 32" width="22" height="22" aria-hidden="true">
      <circle cx="16" cy="16" r="13" />
      <path d="M7 17h4l3-8 4 15 3-10 2 3h3" />
    </svg>
  );
}
