// What hands know from XProf's and Perfetto's viewers, and the shortest ways: each in at most three actions, at a desk's and a phone's
// size, light and dark.
//   node tests/e2e/habits.mjs        alone, on a fixture and on a decoding profile beside the checkout; HALOSCOPE_ONLY narrows
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { violations } from "./axe.mjs";
import {
  DESK,
  PHONE,
  assertShows,
  counts,
  launch,
  openPage,
  overflow,
  param,
  rested,
  settled,
  soon,
  visit,
  waitForParam,
} from "./browser.mjs";
import { ask, start, traces, web } from "./server.mjs";

const shots = join(web, "test-results/e2e/habits");
const canvas = (page) => page.locator("canvas.tl-canvas").first();

/** The view as the page draws it: what the address says, or all of the run where it says nothing. */
async function viewOf(page, tracks) {
  await rested(page);
  const text = (await param(page, "view")) ?? "";
  const range = /^(\d+)\.\.(\d+)$/.exec(text);
  return range === null ? [tracks.start_ps, tracks.end_ps] : [Number(range[1]), Number(range[2])];
}

/** The time that a place of the canvas stands for. */
function timeAt([from, to], box, x) {
  return from + ((x - box.x) / box.width) * (to - from);
}

async function tracksOf(origin, id) {
  return (await ask(origin, "timeline/tracks", { run: id })).body;
}

/** Where a slice of the ops is on the screen, by the tile that draws it. */
async function aSlice(page, origin, id) {
  const label = await page
    .locator(".tl-labels .tl-track", { hasText: /^XLA Ops$/ })
    .first()
    .boundingBox();
  const box = await canvas(page).boundingBox();
  const tracks = await tracksOf(origin, id);
  const ops = tracks.groups[0].tracks.find((track) => track.name === "XLA Ops");
  const query = { run: id, start: tracks.start_ps, end: tracks.end_ps, px: 400, tracks: ops.id };
  const slices = (await ask(origin, "timeline/window", query)).body.tracks[0].slices;
  const [first, duration] = slices.filter((slice) => slice[2] === 0).sort((a, b) => b[1] - a[1])[0];
  const middle = (first + duration / 2 - tracks.start_ps) / (tracks.end_ps - tracks.start_ps);
  return { x: box.x + middle * box.width, y: label.y + 12 };
}

export const habitSteps = {
  "digits choose what a drag does, and do not leave the timeline": async (page, origin, id) => {
    await visit(page, origin, { run: id, page: "timeline" });
    const tracks = await tracksOf(origin, id);
    const box = await canvas(page).boundingBox();
    const drag = async (dx, dy) => {
      await page.mouse.move(box.x + 300, box.y + 120);
      await page.mouse.down();
      await page.mouse.move(box.x + 300 + dx, box.y + 120 + dy, { steps: 5 });
      await page.mouse.up();
    };
    await page.keyboard.press("1");
    await drag(200, 10);
    await waitForParam(page, "area", /@/);
    await page.keyboard.press("4");
    await drag(150, 10);
    await waitForParam(page, "area", /^\d+\.\.\d+$/);
    await page.keyboard.press("Escape");
    await page.keyboard.press("3");
    const before = await viewOf(page, tracks);
    const time = timeAt(before, box, box.x + 300);
    await drag(0, -80);
    await waitForParam(page, "view", /^\d+\.\.\d+$/);
    const after = await viewOf(page, tracks);
    assert.ok(after[1] - after[0] < before[1] - before[0], "a drag upwards zooms in");
    assert.ok(Math.abs(timeAt(after, box, box.x + 300) - time) < (after[1] - after[0]) / 100, "where it began");
    await page.keyboard.press("2");
    await drag(-100, 0);
    const moved = await viewOf(page, tracks);
    assert.ok(Math.abs(moved[1] - moved[0] - (after[1] - after[0])) < 4 && moved[0] > after[0], "a drag moves the view");
    await page.keyboard.press("0");
    await waitForParam(page, "view", /^$/);
    assert.equal(await param(page, "page"), "timeline");
  },
  "F zooms to the selection, Z takes each zoom back, Shift + Z gives it again": async (page, origin, id) => {
    await visit(page, origin, { run: id, page: "timeline" });
    const at = await aSlice(page, origin, id);
    await page.mouse.click(at.x, at.y);
    await waitForParam(page, "ev", /^\d+,\d+$/);
    await page.keyboard.press("f");
    const near = await waitForParam(page, "view", /^\d+\.\.\d+$/);
    await canvas(page).focus();
    await page.keyboard.press("+");
    await page.waitForFunction((text) => new URL(location.href).searchParams.get("view") !== text, near);
    await page.keyboard.press("z");
    await waitForParam(page, "view", new RegExp(`^${near.replaceAll(".", "\\.")}$`));
    await page.keyboard.press("z");
    await waitForParam(page, "view", /^$/);
    await page.keyboard.press("Shift+Z");
    await waitForParam(page, "view", new RegExp(`^${near.replaceAll(".", "\\.")}$`));
  },
  "Back lets go of what is selected before it leaves the page": async (page, origin, id) => {
    await visit(page, origin, { run: id, page: "ops" });
    await page.getByRole("link", { name: "Timeline", exact: true }).first().click();
    await waitForParam(page, "page", /^timeline$/);
    await settled(page);
    const at = await aSlice(page, origin, id);
    await page.mouse.click(at.x, at.y);
    await waitForParam(page, "ev", /^\d+,\d+$/);
    await page.goBack();
    await waitForParam(page, "ev", /^$/);
    assert.equal(await param(page, "page"), "timeline");
    await page.locator(".tl-event").waitFor({ state: "detached" });
    await page.goForward();
    await waitForParam(page, "ev", /^\d+,\d+$/);
    await page.locator(".tl-event").waitFor();
    // Esc takes the step back too: the next Back leaves at once.
    await page.keyboard.press("Escape");
    await waitForParam(page, "ev", /^$/);
    await page.goBack();
    await waitForParam(page, "page", /^ops$/);
    await settled(page);
    await page.locator("tbody tr:not(.spacer)").first().click();
    await waitForParam(page, "sel", /./);
    await page.goBack();
    await waitForParam(page, "sel", /^$/);
    assert.equal(await param(page, "page"), "ops");
  },
  "help opens at its top, and says where its end is": async (page, origin, id) => {
    await visit(page, origin, { run: id, page: "ops" });
    await page.keyboard.press("?");
    const help = page.locator("dialog.help");
    await help.waitFor();
    assert.equal(await help.evaluate((box) => box.scrollTop), 0);
    await page.waitForFunction(() => document.activeElement.textContent === "Keys and words");
    await help.evaluate((box) => box.scrollTo(0, 4000));
    await help.getByRole("button", { name: "Close" }).click();
    await help.waitFor({ state: "detached" });
  },
  "Ctrl + K finds pages, ops, steps, tracks, runs and commands": async (page, origin, id) => {
    await visit(page, origin, { run: id });
    const find = async (words, kind) => {
      await page.keyboard.press("Control+k");
      await page.locator(".find-query").waitFor();
      await page.keyboard.type(words);
      await page
        .locator(".find-list li", { has: page.locator(".find-kind", { hasText: new RegExp(`^${kind}$`) }) })
        .first()
        .waitFor();
      await page.waitForFunction(() => !document.querySelector(".find-foot").textContent.includes("searching"));
      await page.keyboard.press("Enter");
      await page.locator("dialog.find").waitFor({ state: "detached" });
    };
    await find("roofline", "page");
    await waitForParam(page, "page", /^roofline$/);
    const ops = (await ask(origin, "report/ops", { run: id })).body.tables[0];
    const name = String(ops.rows.find((row) => String(row[0]).includes("fusion"))[0]);
    await find(name, "op");
    await waitForParam(page, "page", /^ops$/);
    assert.ok((await waitForParam(page, "sel", /./)).startsWith(name));
    const { steps } = (await ask(origin, "timeline/steps", { run: id })).body;
    await find(`step ${steps[3].number}`, "step");
    await waitForParam(page, "page", /^timeline$/);
    const [from, to] = (await waitForParam(page, "view", /^\d+\.\.\d+$/)).split("..").map(Number);
    assert.ok(from <= steps[3].start_ps && to >= steps[3].end_ps && to - from < 2 * (steps[3].end_ps - steps[3].start_ps));
    await find("whole run", "command");
    await waitForParam(page, "view", /^$/);
    const tracks = await tracksOf(origin, id);
    const last = tracks.groups.at(-1).tracks.at(-1);
    await find(`${last.name} ${tracks.groups.at(-1).name}`, "track");
    await page.locator(`#tl-t${last.id}`).waitFor();
    await page.waitForFunction((key) => {
      const label = document.getElementById(key).getBoundingClientRect();
      const box = document.querySelector(".tl-scroll").getBoundingClientRect();
      return label.top >= box.top && label.bottom <= box.bottom;
    }, `tl-t${last.id}`);
    const { runs } = (await ask(origin, "runs")).body;
    const other = runs.find((run) => run.id !== id && !run.writing && !run.id.startsWith("broken"));
    await find(other.name, "run");
    await soon(async () => ![id, null].includes(await param(page, "run")), "another run");
  },
  "the details are resized, moved beside the canvas, hidden and shown; a reload keeps that": async (page, origin, id) => {
    await visit(page, origin, { run: id, page: "timeline" });
    const at = await aSlice(page, origin, id);
    await page.mouse.click(at.x, at.y);
    const dock = page.locator(".tl-dock");
    await dock.locator(".tl-event").waitFor();
    await settled(page);
    const edge = page.getByRole("separator", { name: "Size of the details" });
    const tall = (await dock.boundingBox()).height;
    await edge.focus();
    await page.keyboard.press("ArrowUp");
    await soon(async () => (await dock.boundingBox()).height > tall);
    await rested(page);
    const grip = await edge.boundingBox();
    await page.mouse.move(grip.x + 200, grip.y + 4);
    await page.mouse.down();
    await page.mouse.move(grip.x + 200, grip.y - 60, { steps: 4 });
    await page.mouse.up();
    await soon(async () => (await dock.boundingBox()).height > tall + 60);
    await dock.getByRole("button", { name: "Move beside" }).click();
    await soon(async () => {
      const [wide, box] = [await dock.boundingBox(), await canvas(page).boundingBox()];
      return wide.x > box.x + box.width - 20 && wide.height > 300;
    }, "the details stand beside the canvas");
    await soon(async () => (await overflow(page)) === 0, "wider than the window");
    await page.reload();
    await settled(page);
    await page.locator(".tl-dock.beside .tl-event").waitFor();
    await page.keyboard.press("q");
    await page.locator(".tl-event").waitFor({ state: "detached" });
    await page.keyboard.press("q");
    await page.locator(".tl-event").waitFor();
    await dock.getByRole("button", { name: "Move below" }).click();
    await page.keyboard.press("Escape");
  },
  "the strip shows the whole run, moves the window and draws a new one": async (page, origin, id) => {
    await visit(page, origin, { run: id, page: "timeline" });
    const strip = page.locator(".tl-strip canvas");
    const { body } = await ask(origin, "timeline/utilisation", { run: id, px: 100 });
    assert.equal(body.busy.length, 100);
    await soon(async () => /busy for [\d.]+% of it; \d+ steps/.test(await strip.getAttribute("aria-label")), "the strip in words");
    const tracks = await tracksOf(origin, id);
    const box = await strip.boundingBox();
    const drag = async (from, to) => {
      await page.mouse.move(box.x + from * box.width, box.y + 20);
      await page.mouse.down();
      await page.mouse.move(box.x + to * box.width, box.y + 20, { steps: 6 });
      await page.mouse.up();
      return viewOf(page, tracks);
    };
    const part = (time) => (time - tracks.start_ps) / (tracks.end_ps - tracks.start_ps);
    const drawn = await drag(0.2, 0.5);
    assert.ok(Math.abs(part(drawn[0]) - 0.2) < 0.01 && Math.abs(part(drawn[1]) - 0.5) < 0.01, String(drawn.map(part)));
    const moved = await drag(0.35, 0.55);
    assert.ok(Math.abs(part(moved[0]) - 0.4) < 0.01 && Math.abs(moved[1] - moved[0] - (drawn[1] - drawn[0])) < 4, String(moved.map(part)));
    await page.keyboard.press("z");
    await page.keyboard.press("z");
    await waitForParam(page, "view", /^$/);
  },
  "the timeline shows the scope: its devices, and its steps in view": async (page, origin, id) => {
    const { groups } = await tracksOf(origin, id);
    const { steps } = (await ask(origin, "timeline/steps", { run: id })).body;
    const device = groups.filter((group) => group.kind === "device")[1];
    const step = steps[2];
    await visit(page, origin, { run: id, page: "timeline", devices: device.device, steps: String(step.number) });
    const shown = groups.filter((group) => group.device === device.device || (group.kind === "host" && group.host === device.host));
    assert.match(await page.locator(".tl-scoped").innerText(), new RegExp(`${shown.length} of ${groups.length} devices and hosts`));
    await counts(page.locator(`#tl-t${device.tracks[0].id}`), 1);
    await counts(page.locator(`#tl-t${groups[0].tracks[0].id}`), 0);
    const [from, to] = (await waitForParam(page, "view", /^\d+\.\.\d+$/)).split("..").map(Number);
    assert.ok(from <= step.start_ps && to >= step.end_ps && to - from < 2 * (step.end_ps - step.start_ps), `${from}..${to}`);
    await page.getByRole("button", { name: "Show all", exact: true }).click();
    await page.locator(`#tl-t${groups[0].tracks[0].id}`).waitFor();
    assert.equal(await param(page, "steps"), String(step.number));
  },
  "the runs are a table: device, step time and what the diagnosis says": async (page, origin, id) => {
    await visit(page, origin, { run: id });
    await page.getByRole("link", { name: "All runs", exact: true }).click();
    await waitForParam(page, "page", /^runs$/);
    const { runs } = (await ask(origin, "runs")).body;
    const rows = page.locator("table.runs tbody tr");
    await counts(rows, runs.length);
    await page.getByRole("searchbox", { name: /^Filter runs/ }).fill("tpu-train");
    await counts(rows, 1);
    const { verdict } = (await ask(origin, "report/diagnose", { run: id })).body.values;
    const cells = rows.first().locator("td");
    await soon(async () => (await cells.nth(4).innerText()) === verdict.value.replaceAll("`", ""), "the verdict");
    const { values } = (await ask(origin, "report/overview", { run: id })).body;
    assert.equal(await cells.nth(2).innerText(), values.device_type.value);
    assertShows(await cells.nth(3).innerText(), values.step_time_mean_ps, "step time");
    await rows.first().locator("a").click();
    await waitForParam(page, "page", /^$/);
  },
  "the menu fits the window, and greys what the run has nothing on": async (page, origin, id) => {
    await visit(page, origin, { run: id });
    const nav = page.locator(".nav");
    assert.ok(await nav.evaluate((box) => box.scrollHeight <= box.clientHeight), "the menu scrolls");
    const last = await nav.locator("a:visible").last().boundingBox();
    assert.ok(last.y + last.height <= 900, `the menu ends at ${last.y + last.height}`);
    const { status } = await ask(origin, "report/kernel", { run: id });
    await counts(nav.locator('a.empty[data-nav="kernel"]'), status === 422 ? 1 : 0);
    await counts(nav.locator('a.empty[data-nav="ops"]'), 0);
  },
  "a tip goes with the keyboard, and the device's name stays in sight": async (page, origin, id) => {
    await visit(page, origin, { run: id, page: "timeline" });
    await page.mouse.move(5, 5);
    await canvas(page).focus();
    await page.keyboard.press("Enter");
    await waitForParam(page, "ev", /^\d+,\d+$/);
    const first = await page.locator(".tl-tip").innerText();
    await page.keyboard.press(".");
    await page.waitForFunction((text) => document.querySelector(".tl-tip")?.innerText !== text, first);
    await soon(async () => {
      const name = await page.locator(".tl-event h2").innerText();
      return (await page.locator(".tl-tip").innerText()).startsWith(name);
    }, "the tip is of the event that the details tell");
    await page.keyboard.press("Escape");
    await counts(page.locator(".tl-tip"), 0);
    const { groups } = await tracksOf(origin, id);
    const first_ = groups[0];
    const track = page.locator(`#tl-t${first_.tracks[0].id}`);
    const bottom = await track.evaluate((label) => label.offsetTop + label.offsetHeight);
    await page
      .locator(".tl-scroll")
      .first()
      .evaluate((box, by) => (box.scrollTop = by), bottom);
    await page.locator(".tl-sticky").waitFor();
    assert.ok((await page.locator(".tl-sticky button").getAttribute("title")).startsWith(first_.name));
  },
  "the timeline of a TPU has the rows that XProf draws, one set a device": async (page, origin, id) => {
    await visit(page, origin, { run: id, page: "timeline" });
    const { groups } = await tracksOf(origin, id);
    const devices = groups.filter((group) => group.kind === "device");
    const labels = page.locator(".tl-labels .tl-track");
    for (const name of ["Framework Name Scope", "Framework Ops", "Source code"]) {
      for (const device of devices)
        assert.equal(device.tracks.filter((track) => track.name === name).length, 1, `${name} of ${device.name}`);
      await labels
        .filter({ hasText: new RegExp(`^${name}$`) })
        .first()
        .waitFor();
    }
    // What such a row shows is drawn, and says where in the program it is.
    const source = devices[0].tracks.find((track) => track.name === "Source code");
    const { body } = await ask(origin, "timeline/event", { run: id, track: source.id, event: 0 });
    assert.match(body.name, /:\d+$/);
  },
  "several events are picked together, and summed": async (page, origin, id) => {
    const { steps } = (await ask(origin, "timeline/steps", { run: id })).body;
    await visit(page, origin, { run: id, page: "timeline", view: `${steps[2].start_ps}..${steps[2].end_ps}` });
    const tracks = await tracksOf(origin, id);
    const ops = tracks.groups[0].tracks.find((track) => track.name === "XLA Ops");
    const query = { run: id, start: steps[2].start_ps, end: steps[2].end_ps, px: 2000, tracks: ops.id };
    const { slices } = (await ask(origin, "timeline/window", query)).body.tracks[0];
    const label = await page.locator(`#tl-t${ops.id}`).boundingBox();
    const box = await canvas(page).boundingBox();
    const wide = slices.filter((slice) => slice[2] === 0).sort((a, b) => b[1] - a[1]);
    const at = ([start, length]) => {
      const middle = Math.min(start + length / 2, steps[2].end_ps) - steps[2].start_ps;
      return [box.x + (middle / (steps[2].end_ps - steps[2].start_ps)) * box.width, label.y + 12];
    };
    await page.keyboard.down("Control");
    for (const slice of wide.slice(0, 2)) await page.mouse.click(...at(slice));
    await page.keyboard.up("Control");
    await counts(page.locator(".tl-chosen tbody tr:not(.spacer)"), 2);
    const sum = await page.locator(".tl-chosen [data-exact]").first().getAttribute("data-exact");
    assert.equal(Number(sum), wide[0][1] + wide[1][1]);
    // A link to them opens on them.
    await waitForParam(page, "evs", /^\d+,\d+;\d+,\d+$/);
    await page.reload();
    await settled(page);
    await counts(page.locator(".tl-chosen tbody tr:not(.spacer)"), 2);
    assert.equal(await page.locator(".tl-chosen [data-exact]").first().getAttribute("data-exact"), sum);
    await page.keyboard.down("Control");
    await page.mouse.click(...at(wide[0]));
    await page.keyboard.up("Control");
    await counts(page.locator(".tl-chosen tbody tr:not(.spacer)"), 1);
    await page.keyboard.press("Escape");
    await page.locator(".tl-chosen").waitFor({ state: "detached" });
  },
  "the legend of the timeline fits, and says how many colours more there are": async (page, origin, id) => {
    await visit(page, origin, { run: id, page: "timeline" });
    const legend = page.locator(".tl-legend");
    await legend.waitFor();
    const more = legend.getByRole("button", { name: /more$/ });
    await more.waitFor();
    const right = await legend.evaluate((box) => box.getBoundingClientRect().right);
    for (const entry of await legend.locator("button:not(.beyond)").all()) {
      const one = await entry.boundingBox();
      assert.ok(one.x + one.width <= right + 1, await entry.innerText());
    }
    const shown = await legend.locator("[data-entry]:not(.beyond)").count();
    const hidden = await legend.locator("[data-entry].beyond").count();
    assert.equal(await more.innerText(), `${hidden} more`);
    await more.click();
    await counts(legend.locator("[data-entry]:not(.beyond)"), shown + hidden);
  },
  "the ops of the scope's module stand out on the timeline": async (page, origin, id) => {
    await visit(page, origin, { run: id, page: "timeline", modules: "jit_train_step" });
    await page.locator(".tl-legend [aria-pressed=true]", { hasText: "jit_train_step" }).waitFor();
  },
  "ops have columns of the usual step and of the longest": async (page, origin, id) => {
    await visit(page, origin, { run: id, page: "ops" });
    await page.getByRole("checkbox", { name: "by step" }).check();
    await waitForParam(page, "step", /^1$/);
    await settled(page);
    const { steps } = (await ask(origin, "timeline/steps", { run: id })).body;
    const length = (step) => step.end_ps - step.start_ps;
    const longest = steps.filter((step) => step.class !== "warm-up").sort((a, b) => length(b) - length(a))[0];
    const heads = page.locator("table.data thead th");
    await soon(async () => (await heads.allInnerTexts()).some((text) => text.trim() === `Step ${longest.number}`), "the step's column");
    const column = (await heads.allInnerTexts()).findIndex((text) => text.trim() === `Step ${longest.number}`);
    const cells = await page.locator("table.data tbody tr:not(.spacer)").first().locator("td").allInnerTexts();
    const table = (await ask(origin, "report/ops", { run: id, steps: String(longest.number) })).body.tables[0];
    const index = (name) => table.columns.findIndex((one) => one.id === name);
    const row = table.rows.find((one) => one[0] === cells[0]);
    assertShows(cells[column], { value: row[index("self_ps")] / row[index("devices")], kind: "duration_ps" }, cells[0]);
  },
  "an op leads to another run, where runs of the same program come first": async (page, origin, id) => {
    const run = id.replace("tpu-train", "tpu-gate");
    await visit(page, origin, { run, page: "ops" });
    await page.locator("tbody tr:not(.spacer)").first().click();
    await page.locator(".op-card").getByRole("link", { name: "Other run", exact: true }).click();
    await waitForParam(page, "page", /^compare$/);
    const sel = await waitForParam(page, "sel", /./);
    const slower = page.locator(".compare-choices li", { hasText: "tpu-gate-slower" });
    await slower.locator(".compare-like", { hasText: /^same program$/ }).waitFor();
    await soon(async () => {
      const all = await page.locator(".compare-like").allInnerTexts();
      return all.length > 0 && all.every((text, i) => text === "same program" || !all.slice(i).includes("same program"));
    }, "the same program comes first");
    await slower.getByRole("button").click();
    await waitForParam(page, "other", /tpu-gate-slower/);
    await settled(page);
    assert.equal(await param(page, "sel"), sel);
    await page.locator(".compare-details .op-card").waitFor();
  },
  "in a frame of another page there is neither bar nor menu": async (page, origin, id) => {
    await visit(page, origin, { run: id, page: "steps", embed: "1" });
    await counts(page.locator("header.top, .nav"), 0);
    await page.locator(".findings a[data-nav], .card a").first().waitFor({ state: "attached" });
    assert.equal(await overflow(page), 0);
    const out = await page.getByRole("link", { name: "Open in its own window" }).getAttribute("href");
    assert.ok(out.includes("page=steps") && !out.includes("embed"), out);
  },
  "a report, a part of the run and a run without names are saved": async (page, origin, id) => {
    await visit(page, origin, { run: id, page: "overview", steps: "3" });
    const { hosts } = (await ask(origin, "runs")).body.runs.find((run) => run.id === id);
    const save = async (group, name) => {
      await page.getByRole("button", { name: "Save", exact: true }).click();
      const link = page.getByRole("group", { name: group, exact: true }).getByRole("link", { name, exact: true });
      const [file] = await Promise.all([page.waitForEvent("download"), link.click()]);
      await page.locator(".save-menu").waitFor({ state: "detached" });
      return { name: file.suggestedFilename(), bytes: readFileSync(await file.path()) };
    };
    const report = await save("Report", "One HTML file");
    assert.ok(report.name.endsWith("-report.html") && report.bytes.includes('<script id="data"'), report.name);
    const part = await save("Profile", hosts[0]);
    assert.ok(part.name.endsWith("-slice.xplane.pb"), part.name);
    const redacted = await save("With replaced names", hosts[0]);
    assert.ok(!redacted.bytes.includes("train_step"), "the program's name is in it");
    const names = await save("With replaced names", "What was replaced");
    assert.ok(names.bytes.includes("train_step"));
    // What is saved is a run: dropped on the page it opens.
    const data = await page.evaluateHandle((bytes) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([Uint8Array.from(atob(bytes), (c) => c.charCodeAt(0))], "part.xplane.pb"));
      return transfer;
    }, part.bytes.toString("base64"));
    await page.dispatchEvent("main", "dragover", { dataTransfer: data });
    await page.locator(".drop-over").waitFor();
    await page.dispatchEvent("main", "drop", { dataTransfer: data });
    const opened = await waitForParam(page, "run", /^\(opened\)/);
    await settled(page);
    const { body } = await ask(origin, "timeline/steps", { run: opened });
    assert.deepEqual(
      body.steps.map((step) => step.number),
      [3],
    );
    const bad = await page.evaluateHandle(() => {
      const transfer = new DataTransfer();
      transfer.items.add(new File(["no profile"], "notes.txt"));
      return transfer;
    });
    await page.dispatchEvent("main", "drop", { dataTransfer: bad });
    await page.locator(".drop-said", { hasText: "notes.txt was not opened" }).waitFor();
    assert.equal(await param(page, "run"), opened);
  },
  "what somebody dropped stands apart, and is nobody else's first run": async (page, origin, id) => {
    const { body } = await ask(origin, "runs");
    const dropped = body.runs.filter((run) => run.dropped);
    assert.ok(dropped.length > 0 && dropped.every((run) => run.id !== body.default));
    await visit(page, origin, {});
    const picker = page.getByRole("combobox", { name: "Run", exact: true });
    assert.equal(await picker.inputValue(), body.default);
    await counts(picker.locator('optgroup[label="Dropped on the page"] option'), dropped.length);
    await visit(page, origin, { page: "runs" });
    await counts(page.getByRole("table", { name: "Dropped runs" }).locator("tbody tr"), dropped.length);
    assert.ok(body.runs.some((run) => run.id === id));
  },
  "on a phone the run is saved from the menu": async (page, origin, id) => {
    await page.setViewportSize(PHONE);
    await visit(page, origin, { run: id });
    const save = page.getByRole("button", { name: "Save", exact: true });
    await counts(save, 1);
    const box = await save.boundingBox();
    assert.ok(box.x >= 0 && box.x + box.width <= PHONE.width, JSON.stringify(box));
    await save.click();
    await page.getByRole("link", { name: "One HTML file", exact: true }).waitFor();
    await page.keyboard.press("Escape");
    assert.equal(await overflow(page), 0);
  },
  "axe finds nothing serious in what opens: the finder, the card, the details beside": async (page, origin, id) => {
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      await visit(page, origin, { run: id, page: "ops" });
      await page.locator("tbody tr:not(.spacer)").first().click();
      await page.locator(".op-card").waitFor();
      await settled(page);
      assert.deepEqual(await violations(page, `card, ${colorScheme}`), []);
      await page.keyboard.press("Control+k");
      await page.locator(".find-query").waitFor();
      await page.keyboard.type("fusion");
      await page.locator(".find-list li", { hasText: "fusion" }).first().waitFor();
      assert.deepEqual(await violations(page, `finder, ${colorScheme}`), []);
      await page.keyboard.press("Escape");
    }
    await page.emulateMedia({ colorScheme: "light" });
  },
};

/** The tasks, each in at most three actions, wherever the page is looked at. */
const TASKS = {
  "why a step is slow": async (page, origin, id, act) => {
    await visit(page, origin, { run: id, page: "steps" });
    const { tables } = (await ask(origin, "report/steps", { run: id })).body;
    const rows = tables.find((table) => table.id === "steps").rows;
    const [number, , ps] = rows.find((row) => row[1] === "outlier");
    const usual = rows.filter((row) => row[1] === "steady").sort((a, b) => a[2] - b[2]);
    const [other, , otherPs] = usual[Math.floor((usual.length - 1) / 2)];
    const stacks = tables.find((table) => table.id === "classes").rows;
    const bars = page.locator(".chart.keys svg").first();
    await bars.scrollIntoViewIfNeeded();
    const chart = await bars.boundingBox();
    const slot = (chart.width - 12 - 64) / stacks.length;
    const at = stacks.findIndex((row) => row[0] === number);
    await act(() => page.mouse.click(chart.x + 64 + (at + 0.5) * slot, chart.y + chart.height - 60));
    const panel = page.locator(".step-why");
    await panel.locator("tbody tr:not(.spacer)").first().waitFor();
    const said = await panel.locator(".step-why-said").innerText();
    assert.ok(said.includes(`Step ${number} took`) && said.includes(`step ${other}, the median steady step`), said);
    assert.ok(said.includes(`${((100 * (ps - otherPs)) / otherPs).toFixed(1)}%) longer`), said);
    // What grew most is what the two answers say of it.
    const [first, ...cells] = await panel.locator("tbody tr:not(.spacer)").first().locator("td").allInnerTexts();
    const onDevice = async (step) => {
      const table = (await ask(origin, "report/ops", { run: id, steps: String(step) })).body.tables[0];
      const index = (name) => table.columns.findIndex((column) => column.id === name);
      const row = table.rows.find((one) => one[0] === first);
      return row[index("self_ps")] / row[index("devices")];
    };
    assertShows(cells[1], { value: await onDevice(number), kind: "duration_ps" }, first);
    assertShows(cells[2], { value: await onDevice(other), kind: "duration_ps" }, first);
  },
  "which host is late": (page, origin, id, act) => whichHost(page, origin, id, act),
  "the biggest buffer's line of the program": async (page, origin, id, act) => {
    const run = id.replace("tpu-train", "tpu-run-scan");
    await visit(page, origin, { run, page: "memory" });
    const table = (await ask(origin, "report/memory-peak", { run })).body.tables.find((one) => one.id === "buffers");
    const index = (name) => table.columns.findIndex((column) => column.id === name);
    const most = table.rows.reduce((best, row) => (row[index("bytes")] > best[index("bytes")] ? row : best));
    const line = page.locator(".buffer-line");
    assert.ok((await line.innerText()).includes(most[index("instruction")]));
    await inWindow(page, ".buffer-line");
    if (most[index("source")] === null) return assert.match(await line.innerText(), /source line unknown/);
    await act(() => line.locator('a[data-nav="source"]').click());
    await waitForParam(page, "page", /^source$/);
    return assert.ok(most[index("source")].startsWith(await param(page, "at")));
  },
  "zoom at the pointer keeps what is under it": async (page, origin, id, act) => {
    await visit(page, origin, { run: id, page: "timeline" });
    const tracks = await tracksOf(origin, id);
    const box = await canvas(page).boundingBox();
    for (const [share, hand] of [
      [0.3, () => page.mouse.wheel(0, -400)],
      [0.7, () => page.keyboard.press("w", { delay: 250 })],
    ]) {
      const x = box.x + share * box.width;
      await page.mouse.move(x, box.y + 100);
      const before = await viewOf(page, tracks);
      const time = timeAt(before, box, x);
      await act(hand);
      await settled(page);
      const after = await viewOf(page, tracks);
      assert.ok(after[1] - after[0] < 0.9 * (before[1] - before[0]), `zoomed from ${before} to ${after}`);
      const off = (Math.abs(timeAt(after, box, x) - time) / (after[1] - after[0])) * box.width;
      assert.ok(off < 1.5, `${off} pixels off at ${share}`);
    }
  },
  undo: async (page, origin, id, act) => {
    await visit(page, origin, { run: id, page: "timeline" });
    const box = await canvas(page).boundingBox();
    await page.mouse.move(box.x + 100, box.y + 100);
    await act(() => page.mouse.wheel(0, -600));
    await waitForParam(page, "view", /^\d+\.\.\d+$/);
    await act(() => page.keyboard.press("z"));
    await waitForParam(page, "view", /^$/);
  },
  "top fusion's HLO from Ops": async (page, origin, id, act) => {
    await visit(page, origin, { run: id, page: "ops" });
    const ops = (await ask(origin, "report/ops", { run: id })).body.tables[0];
    const name = String(ops.rows.find((row) => String(row[0]).includes("fusion"))[0]);
    await act(() =>
      page
        .locator("table.data td", { hasText: new RegExp(`^${name.replaceAll(".", "\\.")}$`) })
        .first()
        .click(),
    );
    await page.locator(".op-card").waitFor();
    await act(() => page.locator(".op-card").getByRole("link", { name: "HLO", exact: true }).click());
    await waitForParam(page, "page", /^hlo$/);
    await settled(page);
    assert.equal(await param(page, "node"), name);
    await page.getByRole("heading", { name: `Around ${name}`, exact: true }).waitFor();
  },
  "its longest execution from Ops": async (page, origin, id, act) => {
    await visit(page, origin, { run: id, page: "ops" });
    await act(() => page.locator("tbody tr:not(.spacer)").first().click());
    const way = page.locator(".op-card").getByRole("link", { name: "Timeline", exact: true });
    await page.waitForFunction(() => [...document.querySelectorAll(".op-card a")].some((link) => link.search.includes("ev=")));
    await act(() => way.click());
    const [track, event] = (await waitForParam(page, "ev", /^\d+,\d+$/)).split(",");
    await settled(page);
    const { body } = await ask(origin, "timeline/event", { run: id, track, event });
    const found = (await ask(origin, "timeline/search", { run: id, q: body.name, exact: 1, limit: 1 })).body;
    assert.equal(body.duration_ps, found.longest.duration_ps);
    await page.locator(".tl-event").waitFor();
    await inWindow(page, ".tl-event h2");
  },
  "what was clicked is told inside of the window": async (page, origin, id, act) => {
    await visit(page, origin, { run: id, page: "timeline" });
    const at = await aSlice(page, origin, id);
    await act(() => page.mouse.click(at.x, at.y));
    await page.locator(".tl-event h2").waitFor();
    await inWindow(page, ".tl-event h2");
    await page.keyboard.press("r");
    await page.locator(".tl-area .tl-sums").waitFor();
    await inWindow(page, ".tl-area h2");
  },
};

/** From the overview to the host that the others wait for, or to the words that there is none. */
async function whichHost(page, origin, id, act) {
  await visit(page, origin, { run: id });
  const { values } = (await ask(origin, "report/hosts", { run: id })).body;
  await act(() => page.locator('.nav a[data-nav="hosts"]').first().click());
  await waitForParam(page, "page", /^hosts$/);
  await settled(page);
  if (values.straggler.value === null) {
    const card = '.card[data-id="straggler_test"]';
    assert.ok((await page.locator(card).innerText()).includes(String(values.straggler_test.value)));
    return inWindow(page, `${card} .card-value`);
  }
  // The finding names it, above the numbers.
  const finding = page.locator("main .finding", { hasText: String(values.straggler.value) }).first();
  return inWindow(page, finding.getByText(String(values.straggler.value)).first());
}

/** An element lies inside of the window. */
async function inWindow(page, what) {
  const box = await (typeof what === "string" ? page.locator(what).first() : what).boundingBox();
  const { height } = page.viewportSize();
  assert.ok(box.y >= 0 && box.y + box.height <= height, `${what} at ${box.y} of ${height}`);
}

export async function onEachScreen(browser, origin, id, check, only = "") {
  mkdirSync(shots, { recursive: true });
  for (const [size, name] of [
    [DESK, "desk"],
    [PHONE, "phone"],
  ]) {
    for (const colorScheme of ["light", "dark"]) {
      const { page, problems, close } = await openPage(browser, { viewport: size, colorScheme });
      for (const [task, work] of Object.entries(TASKS)) {
        if (!task.includes(only)) continue;
        await check(`${task}, ${name}, ${colorScheme}`, async () => {
          let actions = 0;
          await work(page, origin, id, async (hand) => {
            actions += 1;
            await hand();
          });
          assert.ok(actions <= 3, `${actions} actions`);
          await soon(async () => (await overflow(page)) === 0, "wider than the window");
          assert.deepEqual(problems.splice(0), []);
          await page.screenshot({ path: join(shots, `${task.replaceAll(/\W+/g, "-")}-${name}-${colorScheme}.png`) });
        });
      }
      await close();
    }
  }
}

/** A run whose work is a small part of what was captured opens on the work. */
async function opensOnWork(browser, origin, id) {
  const tracks = await tracksOf(origin, id);
  assert.notEqual(tracks.active_ps, null);
  const [from, to] = tracks.active_ps;
  const { page, problems, close } = await openPage(browser);
  await visit(page, origin, { run: id, page: "timeline" });
  const part = (to - from) / (tracks.end_ps - tracks.start_ps);
  await page.keyboard.press("r");
  const area = (await waitForParam(page, "area", /^\d+\.\.\d+$/)).split("..").map(Number);
  if (part < 0.5) assert.ok(area[0] <= from && area[1] >= to && area[1] - area[0] < 1.5 * (to - from), `${area} for ${from}..${to}`);
  await page.keyboard.press("Escape");
  await page.keyboard.press("0");
  if (part < 0.5) await waitForParam(page, "view", /^all$/);
  await page.reload();
  await settled(page);
  assert.equal(await param(page, "view"), part < 0.5 ? "all" : null);
  assert.deepEqual(problems, []);
  await close();
  return part;
}

async function main() {
  const failures = [];
  const only = process.env.HALOSCOPE_ONLY ?? "";
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
    const origin = await serve(join(web, "../fixtures/runs"));
    const { runs } = (await ask(origin, "runs")).body;
    const id = runs.find((one) => one.id.startsWith("tpu-train/")).id;
    const { page, problems, close } = await openPage(browser);
    for (const [name, step] of Object.entries(habitSteps)) {
      if (!name.includes(only)) continue;
      await check(name, async () => {
        await page.setViewportSize(DESK);
        await step(page, origin, id);
        assert.deepEqual(problems.splice(0), []);
      });
    }
    await close();
    await onEachScreen(browser, origin, id, check, only);
    const straggler = join(traces, "forged/straggler_v6e32");
    if (existsSync(straggler) && "which host is late of 32".includes(only))
      await check("which host is late of 32, desk and phone", async () => {
        const own = await serve(straggler);
        const { runs: all } = (await ask(own, "runs")).body;
        for (const viewport of [DESK, PHONE]) {
          const { page: tab, problems: trouble, close: end } = await openPage(browser, { viewport });
          let actions = 0;
          await whichHost(tab, own, all[0].id, async (hand) => {
            actions += 1;
            await hand();
          });
          assert.ok(actions <= 3);
          assert.deepEqual(trouble, []);
          await end();
        }
      });
    const decode = join(traces, "forged/decode_v5e4");
    if (existsSync(decode) && "opens on its work".includes(only))
      await check("a decoding run opens on its work", async () => {
        const own = await serve(decode);
        return opensOnWork(browser, own, (await ask(own, "runs")).body.runs[0].id);
      });
  } finally {
    await browser.close();
    for (const server of servers) server.stop();
  }
  process.exitCode = failures.length > 0 ? 1 : 0;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
