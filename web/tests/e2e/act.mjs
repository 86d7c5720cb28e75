// What a person does with the page, on the demo run and on the log folder.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";

import { PHONE, counts, param, rested, settled, visit, waitForParam } from "./browser.mjs";
import { ask } from "./server.mjs";
import { checkCards, checkHeadline } from "./walk.mjs";

const card = (page, id) => page.locator(`.card[data-id="${id}"] .card-value`);

/** Picks one entry of a list of the scope bar, as it is typed. */
async function scopeTo(page, list, text) {
  await page.getByRole("button", { name: new RegExp(`^${list}`) }).click();
  await page.getByRole("combobox", { name: new RegExp(`^${list}:`) }).fill(text);
  await page.keyboard.press("Enter");
  await page.keyboard.press("Escape");
}

/** A file from the first menu of this name. */
async function exported(page, menu, entry) {
  await page.getByRole("button", { name: menu, exact: true }).first().click();
  return Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: entry, exact: true }).click()]);
}

/** Waits until the address has moved on and the new answer is shown. */
async function moved(page, name, matches) {
  await waitForParam(page, name, matches);
  await settled(page);
}

export const demoSteps = {
  "the overview leads with the verdict, then five numbers": async (page, origin) => {
    await visit(page, origin, {});
    await checkHeadline(page, (await ask(origin, "report/diagnose")).body);
    const top = async (what) => (await page.locator(what).first().boundingBox()).y;
    assert.ok((await top("main .headline")) < (await top("main .card")), "the verdict stands below the numbers");
    assert.equal(await page.locator("main .cards").first().locator("[data-id]").count(), 5);
    await page.getByRole("link", { name: "Why, and what to do" }).click();
    await waitForParam(page, "page", /^diagnose$/);
    await checkHeadline(page, (await ask(origin, "report/diagnose")).body);
    await page.goBack();
    await settled(page);
  },
  "steps in the scope bar change the numbers and the address": async (page, origin) => {
    const before = await card(page, "step_time_mean_ps").innerText();
    await scopeTo(page, "steps", "2-3");
    await moved(page, "steps", /^2-3$/);
    const { body } = await ask(origin, "report/overview", { steps: "2-3" });
    await checkCards(page, body, "overview");
    assert.notEqual(await card(page, "step_time_mean_ps").innerText(), before);
  },
  "the scope survives a reload, and Back takes it away": async (page, origin) => {
    const scoped = await card(page, "step_time_mean_ps").innerText();
    await page.reload();
    await settled(page);
    assert.equal(await card(page, "step_time_mean_ps").innerText(), scoped);
    assert.match(await page.getByRole("button", { name: /^steps/ }).innerText(), /2-3/);
    assert.match(await page.locator(".covers").innerText(), /steps 2-3/);
    await page.goBack();
    await moved(page, "steps", /^$/);
    await checkCards(page, (await ask(origin, "report/overview")).body, "overview");
    assert.notEqual(await card(page, "step_time_mean_ps").innerText(), scoped);
  },
  "steady only leaves out the odd steps": async (page, origin) => {
    const before = await card(page, "step_time_mean_ps").innerText();
    await page.getByRole("button", { name: "Steady state" }).click();
    await moved(page, "steady", /^1$/);
    assert.match(await page.locator(".scope-note").innerText(), /^Left out: .*step/);
    await checkCards(page, (await ask(origin, "report/overview", { steady: "1" })).body, "overview");
    assert.notEqual(await card(page, "step_time_mean_ps").innerText(), before);
    await page.getByRole("button", { name: "Clear all" }).click();
    await moved(page, "steady", /^$/);
    assert.equal(await card(page, "step_time_mean_ps").innerText(), before);
  },
  "an op of the overview leads to its row": async (page) => {
    const op = page.locator(".panel", { hasText: "Ops that take the most time" }).locator(".hbar-name").nth(1);
    const name = (await op.evaluate((one) => one.firstChild.textContent)).trim();
    await op.click();
    await moved(page, "page", /^ops$/);
    assert.equal(await page.locator("tr.selected td").first().innerText(), name);
  },
  "a header sorts, turns round and undoes": async (page, origin) => {
    await visit(page, origin, { page: "ops" });
    const { body } = await ask(origin, "report/ops");
    const [table] = body.tables;
    const index = table.columns.findIndex((column) => column.id === "occurrences");
    const header = page.getByRole("button", { name: table.columns[index].label, exact: true });
    await header.click();
    await moved(page, "sort", /^-occurrences$/);
    const most = Math.max(...table.rows.map((row) => row[index]));
    const at = await page.locator("thead th").evaluateAll((all) => all.findIndex((th) => th.getAttribute("aria-sort") === "descending"));
    assert.equal(
      Number((await page.locator("tbody tr:not(.spacer) >> nth=0").locator("td").nth(at).innerText()).replaceAll("\u202f", "")),
      most,
    );
    await header.click();
    await moved(page, "sort", /^occurrences$/);
    await header.click();
    await moved(page, "sort", /^$/);
    assert.equal(await page.locator("tbody td").first().innerText(), table.rows[0][0]);
  },
  "words in the filter keep rows, words with a minus drop them": async (page, origin) => {
    const [table] = (await ask(origin, "report/ops")).body.tables;
    const text = table.columns.flatMap((column, i) => (column.kind === "text" ? [i] : []));
    const words = (row) =>
      text
        .map((i) => row[i] ?? "")
        .join("\n")
        .toLowerCase();
    await page.getByRole("searchbox").fill("fusion -copy");
    await moved(page, "q", /copy$/);
    const kept = table.rows.filter((row) => words(row).includes("fusion") && !words(row).includes("copy")).length;
    assert.ok(kept > 0 && kept < table.rows.length);
    assert.match(await page.locator(".panel.grow .panel-note").innerText(), new RegExp(`^${kept} of `));
    await page.getByRole("searchbox").fill("no such op");
    await page.getByText("No row matches").waitFor();
    await page.getByRole("searchbox").fill("");
  },
  "the table leaves as CSV with every row, unrounded": async (page, origin) => {
    const [table] = (await ask(origin, "report/ops")).body.tables;
    const [download] = await exported(page, "Export", "Download CSV");
    const lines = (await readFile(await download.path(), "utf8")).trimEnd().split("\r\n");
    assert.equal(lines[0], table.columns.map((column) => column.id).join(","));
    assert.ok(lines.length > table.rows.length, `${lines.length} lines for ${table.rows.length} rows`);
    assert.ok(lines[1].startsWith(`${table.rows[0][0]},${table.rows[0][1]},`), lines[1]);
  },
  "the table leaves as JSON, by column ids": async (page, origin) => {
    const [table] = (await ask(origin, "report/ops")).body.tables;
    await page.keyboard.press("Escape");
    const [download] = await exported(page, "Export", "Download JSON");
    const rows = JSON.parse(await readFile(await download.path(), "utf8"));
    assert.equal(rows.length, table.rows.length);
    assert.deepEqual(rows[0], Object.fromEntries(table.columns.map((one, i) => [one.id, table.rows[0][i]])));
    await page.keyboard.press("Escape");
  },
  "the parts of the time are walked by keyboard, down to a row": async (page) => {
    await page.locator('.icicle-box[tabindex="0"]').focus();
    for (const key of ["ArrowDown", "ArrowDown", "ArrowDown", "Enter"]) await page.keyboard.press(key);
    await waitForParam(page, "sel", /./);
    const name = await page.locator(".icicle-box.selected").getAttribute("aria-label");
    assert.ok(name.startsWith(`${await page.locator("tr.selected td").first().innerText()}, `), name);
    await page.keyboard.press("Enter");
    await waitForParam(page, "sel", /^$/);
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Enter");
    await waitForParam(page, "into", / > /);
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    await waitForParam(page, "into", /^$/);
  },
  "a chart leaves as SVG and as PNG": async (page) => {
    const [svg] = await exported(page, "Save image", "Download SVG");
    const text = await readFile(await svg.path(), "utf8");
    assert.match(text, /^<svg [^>]*xmlns="http:..www.w3.org.2000.svg"/);
    assert.match(text, /Self time, part by part/);
    await page.keyboard.press("Escape");
    const [png] = await exported(page, "Save image", "Download PNG");
    const bytes = await readFile(await png.path());
    assert.equal(bytes.subarray(1, 4).toString(), "PNG");
    assert.ok(bytes.length > 2000, `${bytes.length} bytes`);
    await page.keyboard.press("Escape");
  },
  "a definition shows on focus and goes on Escape": async (page) => {
    const term = page.locator(".term").first();
    // Focus by keyboard is what shows it.
    await page.getByRole("button", { name: "Steady state" }).focus();
    await page.keyboard.press("Tab");
    while (!(await term.evaluate((one) => one === document.activeElement))) await page.keyboard.press("Tab");
    const tip = page.getByRole("tooltip");
    await tip.waitFor();
    assert.match(await tip.innerText(), /Unit: .*\nIn exports: /s);
    assert.equal(await term.getAttribute("aria-describedby"), await tip.getAttribute("id"));
    await page.keyboard.press("Escape");
    await tip.waitFor({ state: "hidden" });
  },
  "a window is typed in any unit, a wrong one is refused in place": async (page, origin) => {
    await visit(page, origin, { page: "ops" });
    const field = page.getByLabel("window", { exact: true });
    await field.fill("soon");
    await page.keyboard.press("Enter");
    assert.match(await page.getByRole("alert").innerText(), /1.5ms..20ms/);
    const { body } = await ask(origin, "report/steps");
    const start = body.tables[0].rows[1][body.tables[0].columns.findIndex((column) => column.id === "start_ps")];
    await field.fill(`0..${start / 1e9}ms`);
    await page.keyboard.press("Enter");
    await moved(page, "window", /^0\.\.\d+$/);
    await checkCards(page, (await ask(origin, "report/ops", { window: await param(page, "window") })).body, "ops");
    await page.getByRole("button", { name: "Clear all" }).click();
    await moved(page, "window", /^$/);
  },
  "the run's own lists fill the pickers": async (page, origin) => {
    const { body } = await ask(origin, "report/inspect");
    await page.getByRole("button", { name: /^devices/ }).click();
    const options = page.locator(".picker").getByRole("option");
    await options.first().waitFor();
    assert.deepEqual(await options.locator(".picker-value").allInnerTexts(), body.scope.devices);
    await options.first().click();
    await moved(page, "devices", /./);
    assert.equal(await param(page, "devices"), body.scope.devices[0]);
    assert.equal(await options.first().getAttribute("aria-selected"), "true");
    await page.keyboard.press("Enter");
    await moved(page, "devices", /^$/);
    await page.keyboard.press("Escape");
    assert.match(await page.evaluate(() => document.activeElement.textContent), /^devices/);
  },
  "evidence is marked on a click, and the link says so": async (page, origin) => {
    await visit(page, origin, {});
    await page.locator('.finding a[href*="mark="]').first().click();
    await waitForParam(page, "mark", /^[a-z]+:./);
    const marked = page.locator(".marked");
    await counts(marked, 1);
    assert.ok((await marked.innerText()).startsWith((await param(page, "mark")).split(":")[1]));
    await page.reload();
    await settled(page);
    await counts(page.locator(".marked"), 1);
  },
  "the link button copies the run, the page and the scope": async (page, origin) => {
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await visit(page, origin, { page: "steps", steady: "1" });
    await page.getByRole("button", { name: /^Link/ }).click();
    await page.getByText("Copied").waitFor();
    const link = new URL(await page.evaluate(() => navigator.clipboard.readText()));
    assert.deepEqual([link.searchParams.get("page"), link.searchParams.get("steady")], ["steps", "1"]);
    assert.equal(link.searchParams.get("run"), (await ask(origin, "runs")).body.default);
  },
  "a page whose file does not come says so, and the menu stays": async (page, origin) => {
    await visit(page, origin, {});
    await page.route("**/pages/MemoryPage.js", (route) => route.fulfill({ status: 404, body: "" }));
    await page.getByRole("link", { name: "Memory", exact: true }).click();
    await page.getByRole("button", { name: "Reload the page" }).waitFor();
    assert.match(await page.getByRole("alert").innerText(), /did not load/);
    await page.unroute("**/pages/MemoryPage.js");
    await page.getByRole("button", { name: "Reload the page" }).click();
    await settled(page);
    assert.equal(await page.locator("h1").innerText(), "Memory");
  },
  "rows group by what the control says": async (page, origin) => {
    await visit(page, origin, { page: "ops" });
    await page.getByRole("combobox", { name: "by", exact: true }).selectOption("category");
    await moved(page, "by", /^category$/);
    const { body } = await ask(origin, "report/ops", { by: "category" });
    await counts(page.locator("tbody tr:not(.spacer)"), body.tables[0].rows.length);
  },
  "the wheel zooms at the pointer and the address follows": async (page, origin) => {
    await visit(page, origin, { page: "timeline" });
    await page.mouse.move(800, 300);
    for (let i = 0; i < 6; i += 1) await page.mouse.wheel(0, -200);
    await waitForParam(page, "view", /^\d+\.\.\d+$/);
    await rested(page);
  },
  "a drag pans": async (page) => {
    const before = (await param(page, "view")).split("..").map(Number);
    await page.mouse.move(900, 300);
    await page.mouse.down();
    await page.mouse.move(700, 300, { steps: 5 });
    await page.mouse.up();
    await page.waitForFunction((view) => new URL(location.href).searchParams.get("view") !== view, before.join(".."));
    await rested(page);
    const after = (await param(page, "view")).split("..").map(Number);
    assert.ok(after[0] > before[0], "the view moved to later times");
    assert.ok(Math.abs(after[1] - after[0] - (before[1] - before[0])) < 2, "its span stayed");
  },
  "W, A, S and D zoom and pan while held": async (page) => {
    for (const [key, check] of [
      ["w", (a, b) => b[1] - b[0] < a[1] - a[0]],
      ["a", (a, b) => b[0] < a[0]],
      ["d", (a, b) => b[0] > a[0]],
      ["s", (a, b) => b[1] - b[0] > a[1] - a[0]],
    ]) {
      const before = await param(page, "view");
      const shown = await page.locator(".tl-span").innerText();
      await page.keyboard.down(key);
      await page.waitForFunction((text) => document.querySelector(".tl-span").innerText !== text, shown);
      await page.keyboard.up(key);
      await page.waitForFunction((view) => new URL(location.href).searchParams.get("view") !== view, before);
      await rested(page);
      const spans = [before, await param(page, "view")].map((view) => view.split("..").map(Number));
      assert.ok(check(...spans), `${key}: ${spans.join(" to ")}`);
    }
  },
  "F fits the run and a click shows an event's details": async (page) => {
    await page.keyboard.press("f");
    await moved(page, "view", /^$/);
    const track = await page.locator(".tl-track").first().boundingBox();
    await page.mouse.click(track.x + track.width + 300, track.y + 10);
    await page.locator(".tl-event dt", { hasText: "self time" }).waitFor();
    assert.ok((await page.locator(".tl-event dt").count()) >= 4);
  },
  "full stop walks on, F zooms to it, Z takes that back, Escape lets go": async (page) => {
    const start = page.locator(".tl-event dd").nth(1);
    const before = await start.innerText();
    await page.keyboard.press(".");
    await page.waitForFunction((text) => document.querySelectorAll(".tl-event dd")[1]?.textContent !== text, before);
    await page.keyboard.press("f");
    await waitForParam(page, "view", /^\d+\.\.\d+$/);
    await page.keyboard.press("z");
    await waitForParam(page, "view", /^$/);
    await page.keyboard.press("f");
    await waitForParam(page, "view", /^\d+\.\.\d+$/);
    await page.keyboard.press("Escape");
    await page.locator(".tl-event").waitFor({ state: "detached" });
  },
  "the view becomes the scope of every page": async (page, origin) => {
    await page.getByRole("button", { name: "Scope to view" }).click();
    const window = await waitForParam(page, "window", /^\d+\.\.\d+$/);
    await page.getByRole("link", { name: "Overview", exact: true }).click();
    await moved(page, "page", /^$/);
    assert.equal(await param(page, "window"), window);
    const { status, body } = await ask(origin, "report/overview", { window });
    assert.equal(status, 200);
    await checkCards(page, body, "overview");
    await page.getByRole("button", { name: "Clear the window" }).click();
    await moved(page, "window", /^$/);
  },
  "a measured stretch becomes the scope too": async (page, origin) => {
    await visit(page, origin, { page: "timeline" });
    await page.keyboard.down("Shift");
    await page.mouse.move(600, 300);
    await page.mouse.down();
    await page.mouse.move(900, 300, { steps: 4 });
    await page.mouse.up();
    await page.keyboard.up("Shift");
    await page.getByRole("button", { name: "Scope to selection" }).click();
    await moved(page, "window", /^[1-9]\d*\.\.\d+$/);
    await page.getByRole("button", { name: "Clear scope" }).click();
    await moved(page, "window", /^$/);
  },
  "the roofline's rows and points are reached by keyboard": async (page, origin) => {
    await visit(page, origin, { page: "roofline" });
    // Ops without FLOPs or bytes have no point.
    const ops = (await ask(origin, "report/roofline")).body.tables.find((table) => table.id === "ops");
    const intensity = ops.columns.findIndex((column) => column.id === "operational_intensity");
    const first = ops.rows.findIndex((row, at) => at > 0 && row[intensity] > 0);
    assert.ok(first > 0);
    await page.locator("table.data").first().focus();
    for (let row = 0; row < first; row++) await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.locator(".details").waitFor();
    await page.locator("circle.selected").waitFor();
    await counts(page.locator("tr.selected"), 1);
    await counts(page.locator("circle.selected"), 1);
    await page.keyboard.press("Escape");
    await page.locator("tr.selected").waitFor({ state: "detached" });
  },
  "the points of the roofline are walked by arrows": async (page) => {
    await page.locator(".chart.roofline").focus();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Enter");
    await page.locator("circle.selected").waitFor();
    await waitForParam(page, "sel", /./);
    const name = (await page.locator(".chart.roofline [role=status]").textContent()).split(",")[0];
    assert.equal(await page.locator("tr.selected td").first().innerText(), name);
    await page.keyboard.press("Escape");
    await waitForParam(page, "sel", /^$/);
  },
  "a number leads to its formula in two jumps, and Back returns": async (page, origin) => {
    await visit(page, origin, { page: "overview" });
    await page.locator('.card[data-id="step_time_mean_ps"] a.term').click();
    await page.waitForURL(/\/docs\/analyses\/overview#value-step_time_mean_ps$/);
    const row = page.locator("tr:has(:target)");
    assert.match(await row.innerText(), /step_time_mean_ps/);
    await row.getByRole("link", { name: "how" }).click();
    await page.waitForURL(/#how-it-is-computed$/);
    assert.equal(await page.locator(":target").innerText(), "How it is computed");
    await page.goBack();
    await page.goBack();
    await settled(page);
    await card(page, "step_time_mean_ps").waitFor();
    // So does every column of a table.
    await visit(page, origin, { page: "ops" });
    const ways = await page.locator("table.data thead a.how").evaluateAll((all) => all.map((one) => one.getAttribute("href")));
    assert.ok(ways.length > 5, `${ways.length} columns`);
    for (const way of ways) {
      const [path, anchor] = way.split("#");
      const html = await (await fetch(origin + path)).text();
      assert.ok(html.includes(`id="${anchor}"`), way);
    }
    await visit(page, origin, { page: "roofline" });
  },
  "help opens on ? and closes on Escape": async (page) => {
    await page.keyboard.press("?");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
  },
  "digits go from page to page and Back returns": async (page) => {
    await page.keyboard.press("4");
    await moved(page, "page", /^idle$/);
    await page.goBack();
    await moved(page, "page", /^roofline$/);
  },
  "a step leads to its time on the timeline": async (page, origin) => {
    await visit(page, origin, { page: "steps" });
    await page.locator("tbody tr").nth(2).click();
    await page.getByRole("button", { name: "Show on the timeline" }).first().click();
    await moved(page, "page", /^timeline$/);
    assert.match(await param(page, "view"), /^\d+\.\.\d+$/);
  },
  "a scope without steps is a calm empty page with a way out": async (page, origin) => {
    await visit(page, origin, { steps: "777" });
    const notice = page.locator(".notice.calm").first();
    assert.match(await notice.innerText(), /Nothing to show[\s\S]*no step is in the scope/i);
    await counts(page.getByRole("alert"), 0);
    await notice.getByRole("button", { name: "Clear the scope" }).click();
    await moved(page, "steps", /^$/);
    await card(page, "device_type").or(page.locator('.unknown-values [data-id="device_type"]')).waitFor();
  },
  "a scope that cannot be read says what is expected": async (page, origin) => {
    await visit(page, origin, { steps: "many" });
    assert.match(await page.getByRole("alert").first().innerText(), /2-5[\s\S]*many/);
  },
  "the chosen colours last": async (page, origin) => {
    await visit(page, origin, {});
    const button = page.getByRole("button", { name: /^Colours/ });
    await button.click();
    await button.click();
    await page.waitForFunction(() => document.documentElement.dataset.theme === "dark");
    await page.reload();
    await settled(page);
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
    await button.click();
  },
  "a finger opens details as a sheet": async (page, origin) => {
    await page.setViewportSize(PHONE);
    await visit(page, origin, { page: "ops" });
    await page.locator("tbody tr:not(.spacer)").nth(1).click();
    await page.locator(".details").evaluate((sheet) => Promise.all(sheet.getAnimations().map((one) => one.finished)));
    const box = await page.locator(".details").boundingBox();
    assert.ok(
      box.y > PHONE.height * 0.3 && Math.round(box.y + box.height) === PHONE.height && box.width === PHONE.width,
      JSON.stringify(box),
    );
  },
};

export const folderSteps = {
  "the picker changes the run and drops the scope": async (page, origin, names) => {
    const { body } = await ask(origin, "runs");
    const [one, two] = ["cpu-train", "cpu-infer"].map((name) => body.runs.find((run) => run.id.startsWith(`${name}/`)).id);
    assert.equal(body.runs.length, names.length + 1);
    await visit(page, origin, { run: one, steps: "2-3" });
    const picker = page.getByRole("combobox", { name: "Run", exact: true });
    await counts(picker.locator("option"), body.runs.length);
    await picker.selectOption(two);
    await moved(page, "run", /^cpu-infer/);
    assert.equal(await param(page, "steps"), null);
    await checkCards(page, (await ask(origin, "report/overview", { run: two })).body, "overview");
    await page.goBack();
    await moved(page, "steps", /^2-3$/);
    assert.equal(await param(page, "run"), one);
  },
  "hundreds of rows keep few elements, and the last is reached": async (page, origin) => {
    const { body } = await ask(origin, "runs");
    const { id } = body.runs.find((run) => run.id.startsWith("tpu-train/"));
    const { rows } = (await ask(origin, "report/ops", { run: id })).body.tables[0];
    assert.ok(rows.length > 150);
    await visit(page, origin, { run: id, page: "ops" });
    assert.ok((await page.locator("tbody tr").count()) < 80);
    await page.locator("table.data").focus();
    await page.keyboard.press("End");
    await page.keyboard.press("Enter");
    assert.equal(await page.locator("tr.selected td").first().innerText(), rows.at(-1)[0]);
    assert.equal(await page.locator(".details h2").innerText(), rows.at(-1)[0]);
  },
  "a run that cannot be read says so in place, with a hint": async (page, origin) => {
    for (const id of ["overview", "timeline", "ops"]) {
      await visit(page, origin, { run: "broken/cut", page: id });
      const alert = page.getByRole("alert").first();
      assert.match(await alert.innerText(), /host\.xplane\.pb[\s\S]*try again/);
      await alert.getByRole("button", { name: "Try again" }).click();
      await settled(page);
    }
  },
  "a run that is gone and a page that never was are named": async (page, origin) => {
    await visit(page, origin, { run: "absent" });
    assert.match(await page.getByRole("alert").first().innerText(), /absent/);
    await counts(page.getByRole("button", { name: "Try again" }), 0);
    await page.goto(`${origin}/?page=nonsense`);
    await page.getByText("There is no page “nonsense”.").waitFor();
  },
};
