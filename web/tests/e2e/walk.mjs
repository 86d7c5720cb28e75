// Every page of a run, at a desk's and a phone's size, light and dark.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";

import { DESK, PHONE, assertShows, openPage, overflow, settled, visit } from "./browser.mjs";
import { ask, web } from "./server.mjs";

/** Pages whose numbers are held against the API's, one by one. */
export const OWN = [
  "overview",
  "diagnose",
  "timeline",
  "steps",
  "idle",
  "hosts",
  "comm",
  "critical-path",
  "input",
  "compute",
  "compute-mfu",
  "ops",
  "op-profile",
  "roofline",
  "source",
  "kernels",
  "audit-flags",
  "memory",
  "hlo",
  "inspect",
];

/** Every page of the menu, as it is now. */
export async function menu(page, origin, run) {
  await visit(page, origin, { run });
  return page.locator(".nav a[data-nav]").evaluateAll((all) => all.map((one) => one.dataset.nav));
}

/** Whose numbers a page over several analyses shows first. */
const FIRST_REPORT = { memory: "memory-peak", hlo: "hlo-graph" };

/** Tabs of pages with several, and analyses that have no page of their own. */
export const PARTS = [
  { page: "memory", tab: "attribute" },
  { page: "memory", tab: "diagnose" },
  { page: "memory", tab: "profile" },
  { page: "hlo", tab: "counters" },
  { page: "hlo", tab: "fusions" },
  { page: "hlo", tab: "diff" },
  { page: "hlo", tab: "modules" },
  { page: "memory-peak" },
  { page: "hlo-text" },
];

/** Every part of a run once, at a desk in the light and on a phone in the dark. */
export async function walkParts(browser, origin, run) {
  const { page, problems, close } = await openPage(browser);
  for (const part of PARTS) {
    const id = part.tab === undefined ? part.page : `${part.page}-${part.tab}`;
    for (const [size, colorScheme] of [
      [DESK, "light"],
      [PHONE, "dark"],
    ]) {
      await page.setViewportSize(size);
      await page.emulateMedia({ colorScheme });
      await visit(page, origin, { run, ...part });
      await checkNumbers(page, origin, run, id, problems);
      const wide = await overflow(page);
      if (wide > 0) problems.push(`${id} is ${wide} pixels too wide at ${size.width}`);
      const folder = join(SHOTS, "parts");
      mkdirSync(folder, { recursive: true });
      await page.screenshot({ path: join(folder, `${run}-${id}-${size.width}-${colorScheme}.png`.replace(/[^\w.-]+/g, "_")) });
    }
  }
  await close();
  assert.deepEqual(problems, [], run);
}
const SHOTS = join(web, "test-results/e2e");

/**
 * Walks over these pages of a run, else over every one: at a light desk and on a dark phone, where `isWhole` in each theme on both.
 * What `listen` finds wrong with a page, on one of the two by turns, is wrong.
 */
export async function walkRun(browser, origin, run, name, { pages, isWhole = false, listen }) {
  const { page, problems, close } = await openPage(browser);
  const folder = join(SHOTS, name.replace(/[^\w.-]+/g, "_"));
  mkdirSync(folder, { recursive: true });
  const look = async (id, view) => {
    const wide = await overflow(page);
    if (wide > 0) problems.push(`${id} on a ${view} is ${wide} pixels too wide`);
    // A change of theme is drawn in the next frame.
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    await page.screenshot({ path: join(folder, `${id}-${view}.png`) });
  };
  const ids = pages ?? (await menu(page, origin, run));
  for (const [turn, id] of ids.entries()) {
    await page.setViewportSize(DESK);
    await page.emulateMedia({ colorScheme: "light" });
    await visit(page, origin, { run, page: id });
    if (OWN.includes(id)) await checkNumbers(page, origin, run, id, problems);
    await look(id, "desk-light");
    if (listen !== undefined && turn % 2 === 0) problems.push(...(await listen(page, `${id}, light`)));
    if (isWhole) {
      await page.emulateMedia({ colorScheme: "dark" });
      await look(id, "desk-dark");
    }
    await page.setViewportSize(PHONE);
    await page.emulateMedia({ colorScheme: "dark" });
    if (isWhole) await page.reload();
    await settled(page);
    await look(id, "phone-dark");
    if (listen !== undefined && turn % 2 === 1) problems.push(...(await listen(page, `${id}, dark`)));
    if (isWhole) {
      await page.emulateMedia({ colorScheme: "light" });
      await look(id, "phone-light");
    }
  }
  await close();
  assert.deepEqual(problems, [], run);
}

/** What the page shows is what the API says, number by number; a refusal is shown with its words. */
async function checkNumbers(page, origin, run, id, problems) {
  if (id === "timeline") {
    const { body } = await ask(origin, "timeline/tracks", { run });
    if ((await page.locator(".tl-group").count()) !== body.groups?.length) problems.push("timeline: the groups are not those of the API");
    return;
  }
  const { status, body } = await ask(origin, `report/${FIRST_REPORT[id] ?? id}`, { run });
  if (status !== 200) {
    const notice = page.locator(body.kind === "nothing" ? ".notice.calm" : ".notice.error").first();
    const words = (await notice.innerText()).replaceAll(/\s+/g, " ");
    if (!words.toLowerCase().includes(body.error.replaceAll("`", "").replaceAll(/\s+/g, " ").toLowerCase()))
      problems.push(`${id}: ${words} instead of ${body.error}`);
    return;
  }
  try {
    await checkCards(page, body, id);
    if (id === "diagnose") await checkHeadline(page, body);
  } catch (error) {
    problems.push(error.message);
  }
}

export async function checkCards(page, report, where) {
  const shown = await page
    .locator(".card[data-id]")
    .evaluateAll((cards) => cards.map((card) => [card.dataset.id, card.querySelector(".card-value").textContent]));
  for (const [id, text] of shown) assertShows(text, report.values[id], `${where} ${id}`);
  const unknown = await page.locator(".unknown-values [data-id]").evaluateAll((all) => all.map((one) => one.dataset.id));
  for (const id of unknown) assert.ok([null, "unknown"].includes(report.values[id].value), `${where} ${id} is known`);
  const ids = new Set([...shown.map(([id]) => id), ...unknown]);
  const headline =
    where === "overview"
      ? ["device_type", "step_time_mean_ps", "flop_share_of_peak"]
      : Object.keys(report.values).filter((id) => id !== "verdict");
  for (const id of headline) assert.ok(ids.has(id), `${where} does not show ${id}`);
}

/** The headline is the diagnosis in one sentence, as the API has it. */
export async function checkHeadline(page, diagnosis) {
  const words = (await page.locator("main .headline").first().innerText()).replaceAll(/\s+/g, " ");
  const verdict = diagnosis.values.verdict.value.replaceAll("`", "").replaceAll(/\s+/g, " ");
  assert.ok(words.startsWith(verdict), `the page begins with ${words.slice(0, 80)}, not with ${verdict}`);
}
