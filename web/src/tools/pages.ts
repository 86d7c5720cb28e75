/** Which page answers which question. The server's registry says what there is, what it is called and where it stands; an analysis
 * without a page of its own gets the generic one.
 *
 * A page is a file of its own, loaded when somebody goes there. */

import type { ComponentType } from "preact";

import type { Analyses, AnalysisInfo, MenuGroup } from "../api/types";

export interface PageProps {
  readonly info: AnalysisInfo;
  /** What the page is called where no menu says what it stands under. */
  readonly title: string;
}

/** Loads the page's code. */
export type PageLoader = () => Promise<ComponentType<PageProps>>;

export interface PageEntry {
  readonly info: AnalysisInfo;
  readonly title: string;
  readonly page: PageLoader;
  /** The id of the page that it stands under in the menu. */
  readonly under?: string;
  /** The group of the menu that it is in. */
  readonly group: MenuGroup;
}

const GENERIC: PageLoader = async () => (await import("./generic/GenericPage")).GenericPage;

/** Pages made by hand, by the id of their analysis or family. */
const OWN: Readonly<Record<string, PageLoader>> = {
  overview: async () => (await import("./overview/OverviewPage")).OverviewPage,
  diagnose: async () => (await import("./diagnose/DiagnosePage")).DiagnosePage,
  steps: async () => (await import("./steps/StepsPage")).StepsPage,
  idle: async () => (await import("./idle/IdlePage")).IdlePage,
  hosts: async () => (await import("./hosts/HostsPage")).HostsPage,
  comm: async () => (await import("./comm/CommPage")).CommPage,
  "critical-path": async () => (await import("./path/CriticalPathPage")).CriticalPathPage,
  input: async () => (await import("./input/InputPage")).InputPage,
  compute: async () => (await import("./compute/ComputePage")).ComputePage,
  "compute-mfu": async () => (await import("./compute/MfuPage")).MfuPage,
  ops: async () => (await import("./ops/OpsPage")).OpsPage,
  "op-profile": async () => (await import("./opprofile/OpProfilePage")).OpProfilePage,
  roofline: async () => (await import("./roofline/RooflinePage")).RooflinePage,
  source: async () => (await import("./source/SourcePage")).SourcePage,
  kernels: async () => (await import("./kernels/KernelsPage")).KernelsPage,
  utilization: async () => (await import("./utilization/UtilizationPage")).UtilizationPage,
  megascale: async () => (await import("./megascale/MegascalePage")).MegascalePage,
  inference: async () => (await import("./inference/InferencePage")).InferencePage,
  "audit-flags": async () => (await import("./flags/FlagsPage")).FlagsPage,
  compare: async () => (await import("./compare/ComparePage")).ComparePage,
  check: async () => (await import("./check/CheckPage")).CheckPage,
  memory: async () => (await import("./memory/MemoryPage")).MemoryPage,
  hlo: async () => (await import("./hlo/HloPage")).HloPage,
  inspect: async () => (await import("./inspect/InspectPage")).InspectPage,
};

/** What the server has beside its analyses: at the end of its group. */
const TIMELINE = beside("timeline", "Timeline", "start", "When did it happen?");
const TIMELINE_PAGE: PageLoader = async () => (await import("./timeline/TimelinePage")).TimelinePage;
const RUNS = beside("runs", "Runs", "file", "Which runs are there, and how are they doing?");
const RUNS_PAGE: PageLoader = async () => (await import("./runs/RunsPage")).RunsPage;
const FLEET = beside(
  "fleet",
  "Fleet",
  "change",
  "Which runs are slow, which are nearly out of memory, and what is the first cause of each?",
);
const FLEET_PAGE: PageLoader = async () => (await import("./fleet/FleetPage")).FleetPage;
const LEDGER = beside("ledger", "Ledger", "change", "How did the runs change over time, and should the last change be kept?");
const LEDGER_PAGE: PageLoader = async () => (await import("./ledger/LedgerPage")).LedgerPage;
const QUERY = beside("query", "Query", "file", "What does SQL say about its events?");
const QUERY_PAGE: PageLoader = async () => (await import("./query/QueryPage")).QueryPage;

/** Pages that are not about one run's numbers, or that ask for their part of a run themselves: the scope has no part in them. */
export const UNSCOPED: ReadonlySet<string> = new Set([RUNS.id, FLEET.id, LEDGER.id, QUERY.id]);

/** Described as an analysis is, which it is not. */
function beside(id: string, label: string, group: MenuGroup, question: string): AnalysisInfo {
  return { id, name: id, label, group, family: null, others: null, takes_many: false, question, needs: [], params: [] };
}

/** The menu: group by group as the server has them, in each the analyses in the registry's order. The members of a family stand
 * under its page where it has one, those of an analysis that leads others under it. */
export function pagesFor(listed: Analyses): PageEntry[] {
  const entries: PageEntry[] = [];
  const placed = new Set<string>();
  for (const group of listed.groups) {
    const add = (info: AnalysisInfo, title: string, page: PageLoader, under?: string): void => {
      placed.add(info.id);
      entries.push({ info, title, page, group, ...(under === undefined ? {} : { under }) });
    };
    const members = (head: string, label: string): void => {
      for (const info of listed.analyses.filter((one) => one.family === head))
        add(info, `${label}: ${info.label}`, OWN[info.id] ?? GENERIC, head);
    };
    for (const info of listed.analyses.filter((one) => one.group === group)) {
      if (placed.has(info.id)) continue;
      const family = listed.families.find((one) => one.id === info.family);
      const head = family === undefined ? undefined : OWN[family.id];
      if (family !== undefined && head !== undefined) {
        add(beside(family.id, family.label, group, family.about), family.label, head);
        members(family.id, family.label);
        continue;
      }
      add(info, family === undefined ? info.label : `${family.label}: ${info.label}`, OWN[info.id] ?? GENERIC);
      members(info.id, info.label);
    }
    if (group === TIMELINE.group) add(TIMELINE, TIMELINE.label, TIMELINE_PAGE);
    if (group === RUNS.group) add(RUNS, RUNS.label, RUNS_PAGE);
    if (group === FLEET.group) add(FLEET, FLEET.label, FLEET_PAGE);
    if (group === LEDGER.group && listed.ledger) add(LEDGER, LEDGER.label, LEDGER_PAGE);
    if (group === QUERY.group && listed.sql) add(QUERY, QUERY.label, QUERY_PAGE);
  }
  return entries;
}

/** The ids for which a page was made by hand. */
export const OWN_IDS: readonly string[] = Object.keys(OWN);

/** Begins to load the code of the page that an address names, before the server has said what there is; the generic page waits. */
export function loadAhead(id: string): void {
  const beside: Readonly<Record<string, PageLoader>> = {
    [TIMELINE.id]: TIMELINE_PAGE,
    [RUNS.id]: RUNS_PAGE,
    [FLEET.id]: FLEET_PAGE,
    [LEDGER.id]: LEDGER_PAGE,
    [QUERY.id]: QUERY_PAGE,
  };
  const load = Object.hasOwn(OWN, id) ? OWN[id] : beside[id];
  // Where it fails, the page itself tries again and says so.
  load?.().catch(() => undefined);
}
