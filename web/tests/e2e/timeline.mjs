// The timeline through the real program: what a person does with it, what it adds up, and how fast it draws.
//   node tests/e2e/timeline.mjs                 the fixtures, and two profiles beside the checkout where there are any
//   node tests/e2e/timeline.mjs --big FOLDER [--strict]    frame times, first paint and memory on the profile in FOLDER, held to the
//                                                          budgets with --strict
import assert from "node:assert/strict";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { areaEqualsOps, eventsOfTile } from "./area.mjs";
import { violations } from "./axe.mjs";
import { DESK, PHONE, counts, launch, openPage, overflow, param, rested, settled, soon, visit, waitForParam } from "./browser.mjs";
import { ask, start, traces, web } from "./server.mjs";
import { measure } from "./frames.mjs";

const canvas = (page) => page.locator("canvas.tl-canvas").first();
const shots = join(web, "test-results/e2e/timeline");

/** Pixels of the canvas that are not of the colour most of it has. */
function drawn(page) {
  return canvas(page).evaluate((element) => {
    const { data } = element.getContext("2d").getImageData(0, 0, element.width, element.height);
    const words = new Uint32Array(data.buffer);
    const counts = new Map();
    for (let i = 0; i < words.length; i += 7) counts.set(words[i], (counts.get(words[i]) ?? 0) + 1);
    return { colours: counts.size, share: 1 - Math.max(...counts.values()) / (words.length / 7) };
  });
}

export const timelineSteps = {
  "a tile stands for every event of its tracks": async (page, origin, id) => {
    const { body } = await ask(origin, "timeline/tracks", { run: id });
    for (const group of body.groups) {
      for (const track of group.tracks.filter((one) => one.counter !== true)) {
        const events = await eventsOfTile(origin, id, [track.id], body.start_ps, body.end_ps + 1);
        assert.equal(events, track.events, `${group.name} ${track.name}`);
      }
    }
  },
  "the canvas shows slices, and hosts and devices have rows": async (page, origin, id) => {
    await visit(page, origin, { run: id, page: "timeline" });
    const { body } = await ask(origin, "timeline/tracks", { run: id });
    await counts(page.locator(".tl-group"), body.groups.length);
    await counts(page.locator(".tl-host"), (body.hosts?.length ?? 1) > 1 ? body.hosts.length : 0);
    const { colours, share } = await drawn(page);
    assert.ok(colours > 5 && share > 0.05, `${colours} colours over ${share}`);
  },
  "the legend counts, and a click lets one class stand out": async (page) => {
    const before = await drawn(page);
    const entry = page.locator(".tl-legend button").first();
    await entry.click();
    await soon(async () => (await entry.getAttribute("aria-pressed")) === "true");
    await settled(page);
    await soon(async () => JSON.stringify(await drawn(page)) !== JSON.stringify(before), "the picture changes");
    await entry.click();
  },
  "colours by module and by time class": async (page) => {
    const choice = page.getByRole("combobox", { name: "colour" });
    for (const by of ["module", "class", "name"]) {
      await choice.selectOption(by);
      await waitForParam(page, "colour", new RegExp(`^${by}$`));
      await settled(page);
      assert.ok((await drawn(page)).colours > 3, by);
    }
    await choice.selectOption("category");
    await waitForParam(page, "colour", /^$/);
  },
  "a search counts what the server counts, and walks from hit to hit": async (page, origin, id) => {
    const { body } = await ask(origin, "timeline/search", { run: id, q: "fusion", limit: 3 });
    assert.ok(body.count > 3);
    await page.keyboard.press("/");
    await page.waitForFunction(() => document.activeElement?.matches(".tl-query"));
    await page.keyboard.type("fusion");
    const found = page.locator(".tl-found");
    await page.waitForFunction(
      (count) => document.querySelector(".tl-found")?.textContent.replaceAll("\u202f", "").includes(`${count} events`),
      body.count,
    );
    await page.keyboard.press("Enter");
    await page.locator(".tl-event h2").waitFor();
    await page.keyboard.press("Escape");
    const first = await waitForParam(page, "ev", /^\d+,\d+$/);
    assert.equal(first, `${body.hits[0].track},${body.hits[0].event}`);
    await soon(async () => /^1 of /.test(await found.innerText()), "the first hit");
    await page.keyboard.press("n");
    await waitForParam(page, "ev", new RegExp(`^${body.hits[1].track},${body.hits[1].event}$`));
    await page.keyboard.press("Shift+N");
    await waitForParam(page, "ev", new RegExp(`^${first}$`));
    await page.getByRole("button", { name: "Hits by name" }).click();
    const names = page.locator(".tl-names tbody tr");
    await names.first().waitFor();
    await counts(names, body.by_name.length);
    assert.equal(await names.first().locator("td").first().innerText(), body.by_name[0].name);
  },
  "conditions on durations and statistics say what they want": async (page, origin, id) => {
    await page.getByRole("button", { name: "duration, statistic" }).click();
    await page.getByLabel("longer than").fill("soon");
    await page.locator(".tl-wrong", { hasText: "not a duration" }).waitFor();
    await page.getByLabel("longer than").fill("20us");
    const { body } = await ask(origin, "timeline/search", { run: id, q: "fusion", min: "20us" });
    await page.waitForFunction(
      (count) => document.querySelector(".tl-found")?.textContent.replaceAll("\u202f", "").includes(`${count} event`),
      body.count,
    );
    await page.getByRole("button", { name: "Clear search" }).click();
    await waitForParam(page, "q", /^$/);
    await page.getByRole("button", { name: "fewer conditions" }).click();
  },
  "two marks give a difference, and go again": async (page) => {
    await canvas(page).focus();
    await page.mouse.move(600, 400);
    await page.keyboard.press("m");
    await page.mouse.move(900, 400);
    await page.keyboard.press("m");
    const [a, b] = (await waitForParam(page, "marks", /^\d+,\d+$/)).split(",").map(Number);
    assert.ok(b > a);
    await soon(async () => /^A to B: [\d.]+ (ns|µs|ms|s)$/.test(await page.locator(".tl-difference").innerText()), "the difference");
    await page.getByRole("button", { name: "Remove mark A" }).click();
    await waitForParam(page, "marks", new RegExp(`^${b}$`));
    await page.keyboard.press("Shift+M");
    await waitForParam(page, "marks", /^$/);
    await page.mouse.move(5, 5);
  },
  "an area by keyboard adds up to what ops says of that window": async (page, origin, id, path) => {
    await page.keyboard.press("Escape");
    await page.keyboard.press("f");
    await waitForParam(page, "view", /^$/);
    await canvas(page).focus();
    for (let i = 0; i < 14; i += 1) await page.keyboard.press("Shift+ArrowRight");
    await areaEqualsOps(page, path);
  },
  "its rows sort, count by category and by track, and lead to a search": async (page) => {
    const area = page.locator(".tl-area");
    const first = await area.locator("tbody td").first().innerText();
    await area.getByRole("button", { name: "Events" }).click();
    await counts(area.locator("th[aria-sort=descending]"), 1);
    await area.getByRole("button", { name: "By category" }).click();
    assert.ok((await area.locator("tbody tr").count()) > 1);
    await area.getByRole("button", { name: "By track" }).click();
    assert.ok((await area.locator("tbody tr").count()) >= 1);
    await area.getByRole("button", { name: "By op" }).click();
    await area.getByText(first, { exact: true }).first().click();
    await waitForParam(page, "exact", /^1$/);
    await waitForParam(page, "q", /./);
    await page.getByRole("button", { name: "Clear search" }).click();
    await page.keyboard.press("Escape");
    await area.waitFor({ state: "detached" });
  },
  "an area has its events one by one, a flame graph, and what a name lay in": async (page, origin, id) => {
    await visit(page, origin, { run: id, page: "timeline" });
    const label = page.locator(".tl-track", { hasText: "XLA Ops" }).first();
    await label.click({ modifiers: ["Control"] });
    const asked = await waitForParam(page, "area", /@\d+$/);
    const [, start, end, tracks] = /^(\d+)\.\.(\d+)@(\d+)$/.exec(asked);
    const area = page.locator(".tl-area");
    await area.getByRole("button", { name: "Event list" }).click();
    const found = (await ask(origin, "timeline/search", { run: id, start, end, tracks, limit: 1 })).body;
    await area.getByText(`${found.count.toLocaleString("en").replaceAll(",", "\u202f")} events, `).waitFor();
    await area.locator("tbody tr td").first().click();
    await waitForParam(page, "ev", new RegExp(`^${tracks},`));
    await page.getByRole("button", { name: "Selected area" }).click();
    await area.getByRole("button", { name: "Flame graph" }).click();
    const whole = (await ask(origin, "timeline/stacks", { run: id, start, end, tracks })).body;
    const totals = (await ask(origin, "timeline/totals", { run: id, start, end, tracks })).body;
    assert.equal(whole.total_ps, totals.tracks[0].union_ps, "the widths of the flame graph add up to the track's busy time");
    // The first box is the whole; the second its largest part, which a click opens.
    const boxes = area.locator(".icicle-box");
    await boxes.nth(1).click();
    await area.getByRole("button", { name: `Around ${whole.inside[0].name}` }).click();
    await counts(area.locator(".icicle"), 2);
    await area.getByRole("button", { name: "← Whole area" }).click();
    await counts(area.locator(".icicle"), 1);
    // A second track joins, and leaves.
    const other = page.locator(".tl-track", { hasText: "XLA Modules" }).first();
    await other.click({ modifiers: ["Control"] });
    await waitForParam(page, "area", /@\d+,\d+$/);
    await other.click({ modifiers: ["Control"] });
    await waitForParam(page, "area", /@\d+$/);
    await page.keyboard.press("Escape");
  },
  "a drag with Shift takes the tracks that it crosses": async (page, origin, id) => {
    await visit(page, origin, { run: id, page: "timeline" });
    const label = page.locator(".tl-track", { hasText: "XLA Modules" }).first();
    const box = await label.boundingBox();
    await page.keyboard.down("Shift");
    await page.mouse.move(500, box.y + 6);
    await page.mouse.down();
    await page.mouse.move(800, box.y + 10, { steps: 4 });
    await page.mouse.up();
    await page.keyboard.up("Shift");
    const { body } = await ask(origin, "timeline/tracks", { run: id });
    const modules = body.groups.flatMap((group) => group.tracks).find((track) => track.name === "XLA Modules");
    await waitForParam(page, "area", new RegExp(`@${modules.id}$`));
    await page.keyboard.press("Escape");
  },
  "a step on the ruler is selected, zoomed to and walked from": async (page, origin, id) => {
    const { body } = await ask(origin, "timeline/steps", { run: id });
    assert.ok(body.steps.length > 2);
    const { start_ps: from, end_ps: to } = (await ask(origin, "timeline/tracks", { run: id })).body;
    const step = body.steps[2];
    const box = await canvas(page).boundingBox();
    const x = box.x + (((step.start_ps + step.end_ps) / 2 - from) / (to - from)) * box.width;
    await page.mouse.click(x, box.y + 36);
    await page.getByRole("group", { name: `Step ${step.number}`, exact: true }).waitFor();
    await waitForParam(page, "area", new RegExp(`^${step.start_ps}\\.\\.${step.end_ps}$`));
    await page.getByRole("button", { name: "Next step" }).click();
    await page.getByRole("group", { name: `Step ${body.steps[3].number}`, exact: true }).waitFor();
    await page.getByRole("button", { name: "Zoom to step" }).click();
    await waitForParam(page, "view", /^\d+\.\.\d+$/);
    await page.keyboard.press("Escape");
    await page.keyboard.press("f");
  },
  "an event by keyboard: every statistic, the way to its op, its program and its buffer": async (page, origin, id) => {
    await visit(page, origin, { run: id, page: "timeline", tracks: "XLA Ops" });
    await canvas(page).focus();
    await page.keyboard.press("Enter");
    const [track, event] = (await waitForParam(page, "ev", /^\d+,\d+$/)).split(",");
    const { body } = await ask(origin, "timeline/event", { run: id, track, event });
    await page.locator(".tl-stats dt").first().waitFor();
    await counts(page.locator(".tl-stats dt"), body.stats.length);
    await soon(async () => (await page.locator(".tl-event h2").innerText()) === body.name, body.name);
    for (const name of ["Ops", "HLO", "Memory", "Timeline"])
      await page.locator(".op-card").getByRole("link", { name, exact: true }).waitFor();
    const said = page.locator("[aria-live=polite].visually-hidden");
    await soon(async () => (await said.innerText()).startsWith(body.name), "the event is said aloud");
    await page.locator(".op-card").getByRole("link", { name: "Ops", exact: true }).click();
    await waitForParam(page, "page", /^ops$/);
    await settled(page);
    assert.equal(await page.locator("tr.selected td").first().innerText(), body.name);
    await page.goBack();
    await waitForParam(page, "page", /^timeline$/);
    await settled(page);
  },
  "flows are walked there and back": async (page, origin, id) => {
    const { body } = await ask(origin, "timeline/flows", { run: id, start: 0, end: Number.MAX_SAFE_INTEGER, limit: 5 });
    if (body.total === 0) return;
    const { from, to } = body.flows[0];
    await visit(page, origin, { run: id, page: "timeline", ev: `${from.track},${from.event}` });
    await page.locator(".tl-flows button").first().waitFor();
    await page.keyboard.press("]");
    await waitForParam(page, "ev", new RegExp(`^${to.track},${to.event}$`));
    await page.locator(".tl-flows button").first().waitFor();
    await page.keyboard.press("[");
    await waitForParam(page, "ev", new RegExp(`^${from.track},${from.event}$`));
    await page.keyboard.press("Escape");
  },
  "overlap and bubbles are drawn and summed": async (page, origin, id) => {
    await visit(page, origin, { run: id, page: "timeline" });
    const before = await drawn(page);
    await page.getByRole("checkbox", { name: "overlap" }).check();
    await page.getByRole("checkbox", { name: "bubbles" }).check();
    await page.getByRole("region", { name: "Bubbles in each step" }).waitFor();
    await waitForParam(page, "overlay", /^overlap,bubbles$/);
    const { start_ps: from, end_ps: to } = (await ask(origin, "timeline/tracks", { run: id })).body;
    const { body } = await ask(origin, "timeline/overlap", { run: id, start: from, end: to, px: 1000 });
    const rows = body.devices.flatMap((device) => device.steps).length;
    assert.equal(Number(await page.locator("table[aria-label='Bubbles in each step']").getAttribute("aria-rowcount")), rows + 1);
    await settled(page);
    await soon(async () => JSON.stringify(await drawn(page)) !== JSON.stringify(before), "the picture changes");
  },
  "tracks are moved, pinned, collapsed and hidden by keys, and a reload brings all of it back": async (page, origin, id) => {
    await visit(page, origin, { run: id, page: "timeline" });
    const label = (name) => page.locator(".tl-labels .tl-track", { hasText: name }).first();
    await label("XLA Ops").focus();
    await page.keyboard.press("Alt+ArrowUp");
    const order = await waitForParam(page, "order", /^t\d+/);
    const names = () => page.locator(".tl-labels .tl-track").evaluateAll((all) => all.slice(0, 3).map((one) => one.textContent));
    await soon(async () => (await names()).slice(0, 2).join() === "Steps,XLA Ops", "the label moves");
    await soon(() => label("XLA Ops").evaluate((one) => one === document.activeElement), "the focus stays on the moved label");
    await label("Steps").focus();
    await page.keyboard.press("p");
    await page.locator(".tl-pinned .tl-track").waitFor();
    await label("XLA Modules").focus();
    await page.keyboard.press("h");
    await waitForParam(page, "hide", /^t\d+$/);
    await page.locator(".tl-group").nth(1).focus();
    await page.keyboard.press("c");
    await waitForParam(page, "closed", /./);
    await page.keyboard.press("m");
    await page.keyboard.press("r");
    await canvas(page).focus();
    await page.keyboard.press("+");
    await waitForParam(page, "view", /^\d+\.\.\d+$/);
    await rested(page);
    const address = await page.evaluate(() => location.search);
    const shown = await names();
    await page.reload();
    await settled(page);
    await rested(page);
    await soon(async () => (await page.evaluate(() => location.search)) === address, address);
    await soon(async () => (await names()).join() === shown.join(), shown.join());
    assert.equal(await param(page, "order"), order);
    await counts(page.locator(".tl-pinned .tl-track"), 1);
    await counts(page.locator(".tl-area"), 1);
    await counts(page.locator(".tl-marks .chip"), 1);
    await page.getByRole("button", { name: /hidden, show all/ }).click();
    await waitForParam(page, "hide", /^$/);
  },
  "a label is dragged to another place": async (page, origin, id) => {
    await visit(page, origin, { run: id, page: "timeline" });
    const box = (name) => page.locator(".tl-labels .tl-track", { hasText: name }).first().boundingBox();
    const [from, to] = [await box("Steps"), await box("XLA Ops")];
    await page.mouse.move(from.x + 60, from.y + 10);
    await page.mouse.down();
    await page.mouse.move(to.x + 60, to.y + to.height - 4, { steps: 12 });
    await page.mouse.up();
    await waitForParam(page, "order", /^t\d+/);
    await soon(async () => (await box("Steps")).y > (await box("XLA Modules")).y, "below the other");
    await counts(page.locator(".tl-menu"), 0, "a drag is no click");
  },
  "a track's menu opens, is walked by arrows, and gives the focus back": async (page) => {
    const label = page.locator(".tl-labels .tl-track", { hasText: "XLA Ops" }).first();
    await label.focus();
    await page.keyboard.press("Enter");
    await page.getByRole("menu").waitFor();
    await page.keyboard.press("ArrowDown");
    await page.waitForFunction(() => document.activeElement.textContent === "Collapse to one line");
    await page.keyboard.press("Escape");
    await page.getByRole("menu").waitFor({ state: "detached" });
    await soon(() => label.evaluate((one) => one === document.activeElement), "the focus is back");
  },
  "the events in view are a table, and Enter picks one": async (page, origin, id) => {
    await visit(page, origin, { run: id, page: "timeline", tracks: "XLA Modules" });
    await page.keyboard.press("l");
    const table = page.locator(".tl-list table.data");
    await table.locator("tbody tr").first().waitFor();
    await table.focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await waitForParam(page, "ev", /^\d+,\d+$/);
    // The list stays where it is; what was picked in it is a tab away.
    await page.getByRole("group", { name: "Details of" }).getByRole("button", { name: "Event", exact: true }).click();
    await page.locator(".tl-event h2").waitFor();
    await page.keyboard.press("l");
    await table.waitFor({ state: "detached" });
  },
  "a second run stands under the first, aligned by a step, and follows": async (page, origin, id, path, other) => {
    await visit(page, origin, { run: id, page: "timeline" });
    await page.getByRole("combobox", { name: "compare with run" }).selectOption(other);
    await waitForParam(page, "with", /./);
    await page.locator(".tl-second canvas").waitFor();
    await settled(page);
    const corners = () => page.locator(".tl-corner span:first-child").allInnerTexts();
    await canvas(page).focus();
    const before = await corners();
    await page.keyboard.press("+");
    await page.waitForFunction((text) => document.querySelectorAll(".tl-corner span:first-child")[1]?.textContent !== text, before[1]);
    const after = await corners();
    assert.equal(after[0], after[1]);
    assert.notEqual(after[0], before[0]);
    await page.getByRole("combobox", { name: "compare with run" }).selectOption("");
    await page.locator(".tl-second canvas").waitFor({ state: "detached" });
  },
  "exports of the view are files": async (page, origin) => {
    await page.locator(".tl-export summary").click();
    await page.locator(".tl-export a").nth(3).waitFor();
    const links = await page.locator(".tl-export a").evaluateAll((all) => all.map((one) => one.getAttribute("href")));
    assert.equal(links.length, 4);
    for (const href of links) {
      const response = await fetch(origin + href);
      assert.equal(response.status, 200, href);
      assert.match(response.headers.get("content-disposition") ?? "", /attachment/, href);
      assert.ok((await response.arrayBuffer()).byteLength > 100, href);
    }
    await page.keyboard.press("Escape");
  },
  "nothing serious for axe, with everything open": async (page, origin, id) => {
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      await visit(page, origin, { run: id, page: "timeline", overlay: "overlap,bubbles", q: "fusion", pin: "t0" });
      await canvas(page).focus();
      for (const key of ["r", "m", "l", "Enter"]) await page.keyboard.press(key);
      mkdirSync(shots, { recursive: true });
      for (const [tab, what] of [
        ["Selected area", ".tl-area table"],
        ["Events in view", ".tl-list tbody tr"],
        ["Bubbles", "table[aria-label='Bubbles in each step']"],
        ["Event", ".tl-event h2"],
      ]) {
        await page.getByRole("group", { name: "Details of" }).getByRole("button", { name: tab, exact: true }).click();
        await page.locator(what).first().waitFor();
        await settled(page);
        assert.deepEqual(await violations(page, `timeline, ${tab}, ${colorScheme}`), []);
        await page.screenshot({ path: join(shots, `all-${tab.replaceAll(" ", "-").toLowerCase()}-${colorScheme}.png`) });
      }
    }
    await page.emulateMedia({ colorScheme: "light" });
  },
  "a phone shows all of it without scrolling sideways": async (page, origin, id) => {
    await page.setViewportSize(PHONE);
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      await visit(page, origin, { run: id, page: "timeline", overlay: "overlap,bubbles", q: "fusion" });
      await page.keyboard.press("r");
      await page.locator(".tl-area table").waitFor();
      await soon(async () => (await overflow(page)) === 0, "wider than the window");
      await page.screenshot({ path: join(shots, `phone-${colorScheme}.png`), fullPage: true });
    }
    await page.emulateMedia({ colorScheme: "light" });
  },
};

/** On any profile: it draws, its area adds up, a search finds what it names. */
async function onTrace(page, origin, id, path) {
  await visit(page, origin, { run: id, page: "timeline" });
  assert.ok((await drawn(page)).colours > 3, id);
  await canvas(page).focus();
  for (let i = 0; i < 12; i += 1) await page.keyboard.press("Shift+ArrowRight");
  const rows = await areaEqualsOps(page, path);
  await page.keyboard.press("Escape");
  const { body } = await ask(origin, "timeline/search", { run: id, q: "fusion", limit: 1 });
  await page.keyboard.press("/");
  await page.keyboard.type("fusion");
  const words = body.count === 0 ? "no event matches" : `${body.count} event`;
  await page.waitForFunction((text) => document.querySelector(".tl-found")?.textContent.replaceAll("\u202f", "").includes(text), words);
  return `${rows} ops, ${body.count} hits`;
}

async function main() {
  const failures = [];
  const check = async (name, work) => {
    const from = Date.now();
    try {
      const note = await work();
      process.stdout.write(`ok   ${name}${note === undefined ? "" : `: ${note}`} (${((Date.now() - from) / 1000).toFixed(1)} s)\n`);
    } catch (error) {
      failures.push(name);
      process.stdout.write(`FAIL ${name} (${((Date.now() - from) / 1000).toFixed(1)} s): ${error.message}\n`);
    }
  };
  const browser = await launch();
  const servers = [];
  const serve = async (folder) => {
    const server = await start("serve", folder);
    servers.push(server);
    return server.origin;
  };
  try {
    const big = process.argv.indexOf("--big");
    if (big >= 0) await check("frame times, first paint and memory", async () => measure(browser, await serve(process.argv[big + 1])));
    else {
      const folder = join(web, "../fixtures/runs");
      const origin = await serve(folder);
      const { runs } = (await ask(origin, "runs")).body;
      const id = runs.find((one) => one.id.startsWith("tpu-train/")).id;
      const other = runs.find((one) => one.id.startsWith("tpu-run-scan/")).id;
      const { page, problems, close } = await openPage(browser, { acceptDownloads: true });
      // For work on one of them: a part of its name.
      const only = process.env.HALOSCOPE_ONLY;
      if (only !== undefined) await visit(page, origin, { run: id, page: "timeline" });
      for (const [name, step] of Object.entries(timelineSteps)) {
        if (only !== undefined && !name.includes(only)) continue;
        await check(name, async () => {
          await page.setViewportSize(DESK);
          await step(page, origin, id, join(folder, "tpu-train"), other);
          assert.deepEqual(problems.splice(0), []);
        });
      }
      await close();
      await onTraces(browser, serve, check, only);
    }
  } finally {
    await browser.close();
    for (const server of servers) server.stop();
  }
  process.exitCode = failures.length > 0 ? 1 : 0;
}

/** Two real profiles beside the checkout, one of four TPUs and one forged for decoding. */
async function onTraces(browser, serve, check, only) {
  for (const name of ["real/v6e-four-chips", "forged/decode_v5e4"]) {
    const folder = join(traces, name);
    if (!existsSync(folder) || (only !== undefined && !"traces".includes(only))) continue;
    await check(`${name}: it draws, adds up and is searched`, async () => {
      const origin = await serve(folder);
      const { runs, default: first } = (await ask(origin, "runs")).body;
      const { page, problems, close } = await openPage(browser, { acceptDownloads: true });
      const note = await onTrace(page, origin, first ?? runs[0].id, runs.find((one) => one.id === (first ?? runs[0].id)).path);
      assert.deepEqual(problems, []);
      await close();
      return note;
    });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
