/** Which page answers which question. An analysis without a page of its own gets the generic one.
 *
 * A page is a file of its own, loaded when somebody goes there: `page` says where it is and what it is called. */

import type { ComponentType } from "preact";

import type { AnalysisInfo } from "../api/types";

export interface PageProps {
  readonly info: AnalysisInfo;
}

/** Loads the page's code. */
export type PageLoader = () => Promise<ComponentType<PageProps>>;

export interface PageEntry {
  readonly info: AnalysisInfo;
  readonly label: string;
  readonly page: PageLoader;
  /** The id of the page that it stands under in the menu. */
  readonly under?: string;
}

interface Own {
  readonly id: string;
  readonly label: string;
  readonly question: string;
  readonly page: PageLoader;
  /** In the menu only where the server has the analysis: an older one does not. */
  readonly ifListed?: true;
  /** The id of the page that it stands under. */
  readonly under?: string;
}

const GENERIC: PageLoader = async () => (await import("./generic/GenericPage")).GenericPage;

const FIRST: readonly Own[] = [
  {
    id: "overview",
    label: "Overview",
    question: "What happened, and what bounds the run?",
    page: async () => (await import("./overview/OverviewPage")).OverviewPage,
  },
  {
    id: "diagnose",
    label: "Diagnosis",
    question: "Why is this run slow, and what would fixing it give?",
    page: async () => (await import("./diagnose/DiagnosePage")).DiagnosePage,
    ifListed: true,
  },
  {
    id: "timeline",
    label: "Timeline",
    question: "When did it happen?",
    page: async () => (await import("./timeline/TimelinePage")).TimelinePage,
  },
  {
    id: "steps",
    label: "Steps",
    question: "How long does a step take, and which steps differ?",
    page: async () => (await import("./steps/StepsPage")).StepsPage,
  },
  {
    id: "idle",
    label: "Idle time",
    question: "Where did the time of the capture go?",
    page: async () => (await import("./idle/IdlePage")).IdlePage,
  },
  {
    id: "hosts",
    label: "Hosts",
    question: "Which host or device makes the others wait?",
    page: async () => (await import("./hosts/HostsPage")).HostsPage,
  },
  {
    id: "comm",
    label: "Communication",
    question: "What does communication cost, and what hides it?",
    page: async () => (await import("./comm/CommPage")).CommPage,
    ifListed: true,
  },
  {
    id: "critical-path",
    label: "Critical path",
    question: "Which chain of ops sets the length of a step?",
    page: async () => (await import("./path/CriticalPathPage")).CriticalPathPage,
    ifListed: true,
  },
  {
    id: "input",
    label: "Input",
    question: "Does the input pipeline keep up?",
    page: async () => (await import("./input/InputPage")).InputPage,
    ifListed: true,
  },
  {
    id: "compute",
    label: "Compute",
    question: "What is the compute time spent on?",
    page: async () => (await import("./compute/ComputePage")).ComputePage,
    ifListed: true,
  },
  {
    id: "compute-mfu",
    label: "MFU",
    question: "What share of the peak does the program use?",
    page: async () => (await import("./compute/MfuPage")).MfuPage,
    ifListed: true,
    under: "compute",
  },
  { id: "ops", label: "Ops", question: "Which operations take the time?", page: async () => (await import("./ops/OpsPage")).OpsPage },
  {
    id: "op-profile",
    label: "Op profile",
    question: "Where does the device time go, from programs down to single ops, and how much of it is wasted?",
    page: async () => (await import("./opprofile/OpProfilePage")).OpProfilePage,
  },
  {
    id: "roofline",
    label: "Roofline",
    question: "How near is each program to the limit of the hardware?",
    page: async () => (await import("./roofline/RooflinePage")).RooflinePage,
  },
  {
    id: "source",
    label: "Source",
    question: "Which lines of the program's source does the device time come from?",
    page: async () => (await import("./source/SourcePage")).SourcePage,
  },
  {
    id: "kernels",
    label: "Kernels",
    question: "Which kernels run, how are they launched, and do they use the tensor cores?",
    page: async () => (await import("./kernels/KernelsPage")).KernelsPage,
  },
  {
    id: "utilization",
    label: "Utilization",
    question: "How busy were the units of the chip?",
    page: async () => (await import("./utilization/UtilizationPage")).UtilizationPage,
  },
  {
    id: "megascale",
    label: "Megascale",
    question: "What do transfers between slices cost?",
    page: async () => (await import("./megascale/MegascalePage")).MegascalePage,
  },
  {
    id: "inference",
    label: "Inference",
    question: "How long do requests take, and where does their time go?",
    page: async () => (await import("./inference/InferencePage")).InferencePage,
  },
  {
    id: "audit-flags",
    label: "Flags",
    question: "Which compiler flags are set, unknown, in conflict or missing?",
    page: async () => (await import("./flags/FlagsPage")).FlagsPage,
    ifListed: true,
  },
  {
    id: "compare",
    label: "Compare",
    question: "What changed between these runs, and is it more than noise?",
    page: async () => (await import("./compare/ComparePage")).ComparePage,
    ifListed: true,
  },
  {
    id: "check",
    label: "Check",
    question: "Does this run keep its budgets, and is it no slower than its baseline?",
    page: async () => (await import("./check/CheckPage")).CheckPage,
    ifListed: true,
    under: "compare",
  },
  {
    id: "ledger",
    label: "Ledger",
    question: "How did the runs change over time, and should the last change stay?",
    page: async () => (await import("./ledger/LedgerPage")).LedgerPage,
    ifListed: true,
  },
];

/** Pages over several analyses of one subject; the analyses, `memory peak` and so on, stand under them. */
const FAMILIES: readonly Own[] = [
  {
    id: "memory",
    label: "Memory",
    question: "What is alive in memory, whose is it, and what could be saved?",
    page: async () => (await import("./memory/MemoryPage")).MemoryPage,
  },
  {
    id: "hlo",
    label: "HLO",
    question: "What did the compiler build, and what does it cost?",
    page: async () => (await import("./hlo/HloPage")).HloPage,
  },
];

const LAST: Own = {
  id: "inspect",
  label: "Inspect",
  question: "What does the profile hold, and what is missing from it?",
  page: async () => (await import("./inspect/InspectPage")).InspectPage,
};

/** The menu: pages of our own first, then families with their members, whatever else the registry has, and the file's
 * contents last. `beside` names what the server has beside its analyses: `ledger`. */
export function pagesFor(analyses: readonly AnalysisInfo[], beside: readonly string[] = []): PageEntry[] {
  const own = new Set([...FIRST, ...FAMILIES, LAST].map((page) => page.id));
  const entry = (page: Own): PageEntry => ({
    info: analyses.find((info) => info.id === page.id) ?? { id: page.id, question: page.question, params: [] },
    label: page.label,
    page: page.page,
    ...(page.under === undefined ? {} : { under: page.under }),
  });
  const first = FIRST.filter((page) => page.ifListed !== true || beside.includes(page.id) || analyses.some((info) => info.id === page.id));
  const rest = analyses.filter((info) => !own.has(info.id));
  const families = FAMILIES.flatMap((family) => {
    const members = rest.filter((info) => familyOf(info) === family.id);
    if (members.length === 0) return [];
    const under = members.map((info) => ({
      info,
      label: titleOf(info.id.slice(family.id.length + 1)),
      page: GENERIC,
      under: family.id,
    }));
    return [entry(family), ...under];
  });
  const placed = new Set(families.map((page) => page.info.id));
  const others = rest.filter((info) => !placed.has(info.id)).map((info) => ({ info, label: titleOf(info.name ?? info.id), page: GENERIC }));
  return [...first.map(entry), ...families, ...others, entry(LAST)];
}

function familyOf(info: AnalysisInfo): string {
  return info.id.split("-")[0] ?? "";
}

function titleOf(id: string): string {
  const words = id.replaceAll(/[_-]/g, " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
