// What a person does with two runs: choose them, read the verdict, follow a change to its ops, and check a run against budgets.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";

import { violations } from "./axe.mjs";
import { DESK, PHONE, counts, overflow, param, parseNumber, settled, visit, waitForParam } from "./browser.mjs";
import { ask, web } from "./server.mjs";

const SHOTS = join(web, "test-results/e2e/compare");
const tableOf = (body, id) => body.tables.find((table) => table.id === id);
const column = (table, id) => table.columns.findIndex((one) => one.id === id);
const cells = (table, id) => table.rows.map((row) => row[column(table, id)]);
const panel = (page, title) => page.locator("section.panel", { has: page.getByRole("heading", { name: title, exact: true }) });

/** The page's words for a change, against the number. */
function says(text, number, where) {
  if (text.startsWith("<")) return assert.ok(Math.abs(number) < 0.001, `${where}: ${text} for ${number}`);
  const read = parseNumber(text.replace("−", "-").replace("+", ""));
  assert.notEqual(read, null, `${where}: ${text} is no number`);
  return assert.ok(Math.abs(read.number - number) <= Math.max(Math.abs(number) * 2e-3, 6e-4), `${where}: ${text} for ${number}`);
}

async function report(origin, id, query) {
  const { status, body } = await ask(origin, `report/${id}`, query);
  assert.equal(status, 200, `${id} of ${JSON.stringify(query)}: ${body.error}`);
  return body;
}

const breaking = (facts) =>
  facts.rows.filter((row) => row[column(facts, "same")] === "differs" && [true, "yes"].includes(row[column(facts, "breaks")]));

/** `pair`: two runs that can be compared; `far`: one that cannot be compared with them. */
export const compareSteps = {
  "a baseline alone asks for the run to hold against it": async (page, origin, { a, b }) => {
    await visit(page, origin, { run: a, page: "compare" });
    const { runs } = (await ask(origin, "runs")).body;
    await counts(page.locator(".compare-choices button"), Math.min(8, runs.length - 1));
    await page.getByRole("combobox", { name: "Choose the experiment" }).selectOption(b);
    assert.equal(await waitForParam(page, "other", /./), b);
    await settled(page);
    await page.locator(".compare-verdict").waitFor();
    await page.getByRole("button", { name: "Swap", exact: true }).click();
    assert.equal(await waitForParam(page, "run", /./), b);
    assert.equal(await param(page, "other"), a);
  },
  "the verdict comes first, in words and with a sign, with its interval and the noise floor": async (page, origin, { a, b }) => {
    await visit(page, origin, { run: a, page: "compare", other: b });
    const { values } = await report(origin, "compare", { run: a, other: b });
    const box = page.locator(".compare-verdict");
    const sign = await box.locator(".tone-sign").first().textContent();
    assert.equal(await box.locator(".tone").first().textContent(), `${sign}${values.verdict.value}`);
    assert.ok(sign.length > 0);
    const words = await box.innerText();
    if (values.step_delta_low_ps?.value !== null) assert.match(words, /With 95% confidence, the difference is between/);
    if (values.noise_floor_ps?.value !== null) assert.match(words, /Noise floor: with \d+ steps/);
    const first = await page.locator("main .loaded > *").first();
    assert.ok((await first.getAttribute("class")).includes("compare-verdict"));
  },
  "the waterfall goes from one step time to the other, and a bar opens to its ops": async (page, origin, { a, b }) => {
    await visit(page, origin, { run: a, page: "compare", other: b });
    const body = await report(origin, "compare", { run: a, other: b });
    const table = tableOf(body, "waterfall");
    const deltas = cells(table, "delta_ps");
    assert.equal(
      deltas.reduce((sum, one) => sum + one, 0),
      Math.round(body.values.step_delta_ps.value),
      "the parts do not sum to the change",
    );
    const bars = panel(page, "Where the change comes from").locator(".compare-falls > li");
    await counts(bars, deltas.length + 2);
    for (const [i, delta] of deltas.entries()) {
      const text = await bars
        .nth(i + 1)
        .locator(".hbar-text")
        .evaluate((one) => one.firstChild.textContent);
      says(text, delta, `${table.rows[i][0]}`);
    }
    const kind = "efficiency";
    const at = cells(table, "kind").indexOf(kind);
    await bars
      .nth(at + 1)
      .getByRole("button")
      .focus();
    await page.keyboard.press("Enter");
    await waitForParam(page, "kind", /^efficiency$/);
    const ops = tableOf(body, "ops");
    const sized = cells(ops, "efficiency_ps").filter((one) => one !== null && one !== 0);
    const parts = page.locator(".compare-parts .hbars > li");
    await counts(parts, Math.min(12, sized.length));
    if (sized.length === 0) return;
    const largest = sized.reduce((most, one) => (Math.abs(one) > Math.abs(most) ? one : most), 0);
    says(await parts.first().locator(".hbar-text").innerText(), largest, "the largest op of the bar");
    await parts.first().getByRole("button").click();
    await waitForParam(page, "sel", /./);
    await page.locator(".panel.details").waitFor();
  },
  "metrics stand side by side as the API has them": async (page, origin, { a, b }) => {
    await visit(page, origin, { run: a, page: "compare", other: b });
    const table = tableOf(await report(origin, "compare", { run: a, other: b }), "metrics");
    const rows = page.locator(".compare-metrics tbody tr");
    await counts(rows, table.rows.length);
    for (const [i, row] of table.rows.entries()) {
      assert.equal(await rows.nth(i).locator("th").innerText(), row[0]);
      const before = row[column(table, "baseline")];
      const shown = await rows.nth(i).locator('td[data-label="Baseline"]').innerText();
      if (before === null) assert.equal(shown, "unknown");
      else if (typeof before === "number" && ["ps", "B", "share"].includes(row[column(table, "unit")])) says(shown, before, row[0]);
    }
  },
  "ops are kept by how they changed, and lead to either run": async (page, origin, { a, b }) => {
    await visit(page, origin, { run: a, page: "compare", other: b });
    const table = tableOf(await report(origin, "compare", { run: a, other: b }), "ops");
    const changes = cells(table, "change");
    for (const change of new Set(changes)) {
      const wanted = changes.filter((one) => one === change).length;
      await page.locator(".compare-changes button", { hasText: new RegExp(`${change} [\\d\\s]+$`) }).click();
      await waitForParam(page, "change", new RegExp(`^${change}$`));
      assert.equal(await page.getByRole("grid", { name: table.title, exact: true }).getAttribute("aria-rowcount"), String(wanted + 1));
    }
    await page.locator(".compare-changes button").first().click();
    await waitForParam(page, "change", /^$/);
    // By keyboard: the first op that is in both runs.
    const at = table.rows.findIndex((row) => !["new", "gone", "regrouped"].includes(row[column(table, "change")]));
    const grid = page.getByRole("grid", { name: table.title, exact: true });
    await grid.focus();
    await page.keyboard.press("Home");
    for (let i = 0; i < at; i += 1) await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await waitForParam(page, "sel", /./);
    await page.getByRole("link", { name: "Experiment: in the table of ops" }).click();
    assert.equal(await waitForParam(page, "page", /^ops$/), "ops");
    assert.equal(await param(page, "run"), b);
    assert.ok((await param(page, "sel")).startsWith(table.rows[at][column(table, "op")]));
    await settled(page);
    await page.locator("tr.selected").first().waitFor();
    await page.goBack();
    await waitForParam(page, "page", /^compare$/);
  },
  "a branch that opens in one op profile opens in the other": async (page, origin, { a, b }) => {
    await visit(page, origin, { run: a, page: "compare", other: b, tab: "trees" });
    const trees = page.getByRole("treegrid");
    await counts(trees, 2);
    const open = (i) => trees.nth(i).locator('tr[aria-expanded="true"]').count();
    const before = [await open(0), await open(1)];
    assert.ok(before[0] > 0 && before[1] > 0);
    // The whole is called the same in both runs: closing it closes both.
    await trees.nth(0).locator("tbody tr").first().getByRole("button").click();
    await counts(trees.nth(0).locator('tr[aria-expanded="true"]'), 0);
    await counts(trees.nth(1).locator('tr[aria-expanded="true"]'), 0);
    await trees.nth(1).locator("tbody tr").first().getByRole("button").click();
    await counts(trees.nth(0).locator('tr[aria-expanded="true"]'), before[0]);
  },
  "step times are walked by keyboard, and Enter opens the step in its run": async (page, origin, { a, b }) => {
    await visit(page, origin, { run: a, page: "compare", other: b });
    const body = await report(origin, "compare", { run: a, other: b });
    const points = body.series.find((one) => one.id === "experiment").points;
    await page.getByRole("group", { name: /^Step times of both runs/ }).focus();
    await page.keyboard.press("End");
    await page.keyboard.press("Enter");
    await waitForParam(page, "page", /^steps$/);
    assert.equal(await param(page, "run"), b);
    assert.equal(await param(page, "sel"), String(points.at(-1)[0]));
  },
  "the timelines stand one above the other, and the programs' difference is a click away": async (page, origin, { a, b }) => {
    await visit(page, origin, { run: a, page: "compare", other: b });
    await page.getByRole("link", { name: "Programs: differences" }).click();
    await waitForParam(page, "tab", /^diff$/);
    assert.equal(await param(page, "other"), b);
    await page.goBack();
    await waitForParam(page, "page", /^compare$/);
    await settled(page);
    await page.getByRole("link", { name: "Timelines, one above the other" }).click();
    assert.equal(await waitForParam(page, "with", /./), b);
    await page.locator(".tl-second").waitFor();
  },
  "runs that are not comparable say why, and are compared when one insists": async (page, origin, { a, far }) => {
    await visit(page, origin, { run: a, page: "compare", other: far });
    const body = await report(origin, "compare", { run: a, other: far });
    assert.equal(body.values.verdict.value, "not comparable");
    const facts = breaking(tableOf(body, "facts"));
    assert.ok(facts.length > 0);
    await counts(page.locator(".compare-differing tbody tr"), facts.length);
    await counts(panel(page, "Where the change comes from"), 0);
    await page.getByRole("button", { name: "Compare anyway", exact: true }).click();
    await waitForParam(page, "force", /^yes$/);
    await settled(page);
    await panel(page, "Where the change comes from").waitFor();
    await counts(page.locator(".compare-differing tbody tr"), facts.length);
  },
  "of several experiments one is looked at": async (page, origin, { a, b, far }) => {
    await visit(page, origin, { run: a, page: "compare", other: `${b},${far}` });
    const body = await report(origin, "compare", { run: a, other: `${b},${far}` });
    const runs = tableOf(body, "runs");
    const strip = page.locator(".compare-strip-runs button");
    await counts(strip, 2);
    for (const [i, verdict] of cells(runs, "verdict").entries()) assert.ok((await strip.nth(i).innerText()).includes(verdict), verdict);
    await strip.nth(1).click();
    await waitForParam(page, "pick", /^2$/);
    await settled(page);
    assert.equal(await strip.nth(1).getAttribute("aria-pressed"), "true");
    const second = await report(origin, "compare", { run: a, other: `${b},${far}`, pick: "2" });
    assert.ok((await page.locator(".compare-verdict .tone").first().textContent()).endsWith(second.values.verdict.value));
  },
  "the comparison is copied as Markdown": async (page, origin, { a, b }) => {
    await visit(page, origin, { run: a, page: "compare", other: b });
    await page.getByRole("button", { name: "Copy as Markdown" }).click();
    await page.locator(".compare-verdict .copy", { hasText: "Copied" }).waitFor();
  },
  "a check says what holds and what nobody can tell, and takes budgets": async (page, origin, { a, b }) => {
    await visit(page, origin, { run: b, page: "check" });
    await page.getByRole("combobox", { name: "baseline" }).selectOption(a);
    await waitForParam(page, "baseline", /./);
    await settled(page);
    const outcome = page.locator(".compare-verdict .tone").first();
    const gate = async (query) => (await report(origin, "check", { run: b, ...query })).gate.replaceAll("_", " ");
    assert.ok((await outcome.textContent()).endsWith(await gate({ baseline: a })));
    const budget = '[step_time]\nmax = "1ns"';
    await page.getByText("Budgets, a benchmark's times, and more options", { exact: true }).click();
    await page.getByRole("textbox", { name: "Budgets, as TOML" }).fill(budget);
    await page.getByRole("button", { name: "Check", exact: true }).first().click();
    await waitForParam(page, "budget", /step_time/);
    await settled(page);
    const body = await report(origin, "check", { run: b, baseline: a, budget });
    assert.equal(body.gate, "failed");
    assert.ok((await outcome.textContent()).endsWith("failed"));
    const table = tableOf(body, "budgets");
    const rows = panel(page, table.title).locator("tbody tr");
    await counts(rows, table.rows.length);
    for (const [i, word] of cells(table, "verdict").entries())
      assert.ok((await rows.nth(i).locator(".tone").first().textContent()).endsWith(word), word);
  },
  "both pages fit a desk and a phone, light and dark, with nothing serious for axe": async (page, origin, { a, b, far }) => {
    mkdirSync(SHOTS, { recursive: true });
    const views = {
      pair: { run: a, page: "compare", other: b, kind: "efficiency" },
      far: { run: a, page: "compare", other: far },
      trees: { run: a, page: "compare", other: `${b},${far}`, tab: "trees" },
      check: { run: b, page: "check", baseline: a, budget: '[step_time]\nmax = "1ms"' },
    };
    for (const [name, query] of Object.entries(views))
      for (const [size, viewport] of Object.entries({ desk: DESK, phone: PHONE }))
        for (const colorScheme of ["light", "dark"]) {
          await page.setViewportSize(viewport);
          await page.emulateMedia({ colorScheme });
          await visit(page, origin, query);
          await page.locator(".compare-verdict").waitFor();
          assert.equal(await overflow(page), 0, `${name} is too wide for a ${size}`);
          assert.deepEqual(await violations(page, `${name} ${size} ${colorScheme}`), []);
          await page.screenshot({ path: join(SHOTS, `${name}-${size}-${colorScheme}.png`), fullPage: true });
        }
    await page.emulateMedia({ colorScheme: "light" });
  },
};
