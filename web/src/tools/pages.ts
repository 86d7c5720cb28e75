/** Which page answers which question. An analysis without a page of its own gets the generic one. */

import type { ComponentType } from "preact";

import type { AnalysisInfo } from "../api/types";
import { GenericPage } from "./generic/GenericPage";
import { HloPage } from "./hlo/HloPage";
import { InspectPage } from "./inspect/InspectPage";
import { MemoryPage } from "./memory/MemoryPage";
import { OpsPage } from "./ops/OpsPage";
import { OverviewPage } from "./overview/OverviewPage";
import { RooflinePage } from "./roofline/RooflinePage";
import { StepsPage } from "./steps/StepsPage";
import { TimelinePage } from "./timeline/TimelinePage";

export interface PageProps {
  readonly info: AnalysisInfo;
}

export interface PageEntry {
  readonly info: AnalysisInfo;
  readonly label: string;
  readonly component: ComponentType<PageProps>;
  /** The id of the page that it stands under in the menu. */
  readonly under?: string;
}

interface Own {
  readonly id: string;
  readonly label: string;
  readonly question: string;
  readonly component: ComponentType<PageProps>;
}

const FIRST: readonly Own[] = [
  { id: "overview", label: "Overview", question: "What happened, and what bounds the run?", component: OverviewPage },
  { id: "timeline", label: "Timeline", question: "When did it happen?", component: TimelinePage },
  { id: "steps", label: "Steps", question: "How long does a step take, and which steps differ?", component: StepsPage },
  { id: "ops", label: "Ops", question: "Which operations take the time?", component: OpsPage },
  { id: "roofline", label: "Roofline", question: "How near is each program to the limit of the hardware?", component: RooflinePage },
];

/** Pages over several analyses of one subject; the analyses, `memory peak` and so on, stand under them. */
const FAMILIES: readonly Own[] = [
  { id: "memory", label: "Memory", question: "What is alive in memory, whose is it, and what could be saved?", component: MemoryPage },
  { id: "hlo", label: "HLO", question: "What did the compiler build, and what does it cost?", component: HloPage },
];

const LAST: Own = {
  id: "inspect",
  label: "Inspect",
  question: "What does the profile hold, and what is missing from it?",
  component: InspectPage,
};

/** The menu: pages of our own first, then families with their members, whatever else the registry has, and the file's
 * contents last. */
export function pagesFor(analyses: readonly AnalysisInfo[]): PageEntry[] {
  const own = new Set([...FIRST, ...FAMILIES, LAST].map((page) => page.id));
  const entry = (page: Own): PageEntry => ({
    info: analyses.find((info) => info.id === page.id) ?? { id: page.id, question: page.question, params: [] },
    label: page.label,
    component: page.component,
  });
  const rest = analyses.filter((info) => !own.has(info.id));
  const families = FAMILIES.flatMap((family) => {
    const members = rest.filter((info) => familyOf(info) === family.id);
    if (members.length === 0) return [];
    const under = members.map((info) => ({
      info,
      label: titleOf(info.id.slice(family.id.length + 1)),
      component: GenericPage,
      under: family.id,
    }));
    return [entry(family), ...under];
  });
  const placed = new Set(families.map((page) => page.info.id));
  const others = rest
    .filter((info) => !placed.has(info.id))
    .map((info) => ({ info, label: titleOf(info.name ?? info.id), component: GenericPage }));
  return [...FIRST.map(entry), ...families, ...others, entry(LAST)];
}

function familyOf(info: AnalysisInfo): string {
  return info.id.split("-")[0] ?? "";
}

function titleOf(id: string): string {
  const words = id.replaceAll(/[_-]/g, " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
