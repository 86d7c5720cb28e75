/** Which page answers which question. An analysis without a page of its own gets the generic one. */

import type { ComponentType } from "preact";

import type { AnalysisInfo } from "../api/types";
import { GenericPage } from "./generic/GenericPage";
import { InspectPage } from "./inspect/InspectPage";
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

const LAST: Own = {
  id: "inspect",
  label: "Inspect",
  question: "What does the profile hold, and what is missing from it?",
  component: InspectPage,
};

/** The menu: pages of our own first, then whatever else the registry has, and the file's contents last. */
export function pagesFor(analyses: readonly AnalysisInfo[]): PageEntry[] {
  const own = new Set([...FIRST, LAST].map((page) => page.id));
  const entry = (page: Own): PageEntry => ({
    info: analyses.find((info) => info.id === page.id) ?? { id: page.id, question: page.question, params: [] },
    label: page.label,
    component: page.component,
  });
  const rest = analyses.filter((info) => !own.has(info.id)).map((info) => ({ info, label: titleOf(info.id), component: GenericPage }));
  return [...FIRST.map(entry), ...rest, entry(LAST)];
}

function titleOf(id: string): string {
  const words = id.replaceAll(/[_-]/g, " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
