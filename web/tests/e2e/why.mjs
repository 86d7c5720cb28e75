// What a person does with the pages that say why: the diagnosis, communication, the critical path, flags.
import assert from "node:assert/strict";

import { counts, param, parseNumber, settled, visit, waitForParam } from "./browser.mjs";
import { ask } from "./server.mjs";

const tableOf = (body, id) => body.tables.find((table) => table.id === id);
const column = (table, ...ids) => table.columns.findIndex((one) => ids.includes(one.id));
const cells = (table, ...ids) => table.rows.map((row) => row[column(table, ...ids)]);
const plain = (text) => text.replaceAll("`", "");
const panel = (page, title) => page.locator("section.panel", { has: page.getByRole("heading", { name: title, exact: true }) });

/** The page's words for a number, against the number. */
function says(text, number, where) {
  const read = parseNumber(text);
  assert.notEqual(read, null, `${where}: ${text} is no number`);
  assert.ok(Math.abs(read.number - number) <= Math.max(Math.abs(number) * 2e-3, 6e-4), `${where}: ${text} for ${number}`);
}

async function report(origin, id, run, query = {}) {
  const { status, body } = await ask(origin, `report/${id}`, { run, ...query });
  assert.equal(status, 200, `${id} of ${run}: ${body.error}`);
  return body;
}

export const whySteps = {
  "the diagnosis stands behind the overview in the menu, and the overview leads to it": async (page, origin, run) => {
    await visit(page, origin, { run });
    const menu = await page.locator(".nav a[data-nav]").evaluateAll((all) => all.map((one) => one.dataset.nav));
    assert.deepEqual(menu.slice(0, 2), ["overview", "diagnose"]);
    await page.getByRole("link", { name: "The diagnosis", exact: true }).click();
    await waitForParam(page, "page", /^diagnose$/);
  },
  "causes are ranked as the API has them, each with its share, and open to what they rest on": async (page, origin, ...runs) => {
    let seen = 0;
    for (const run of runs) {
      await visit(page, origin, { run, page: "diagnose" });
      const body = await report(origin, "diagnose", run);
      const table = tableOf(body, "causes");
      const shown = page.locator(".causes > li");
      await counts(shown, table.rows.length, run);
      if (table.rows.length === 0) await page.locator(".no-cause").waitFor();
      seen += table.rows.length;
      for (const [i, row] of table.rows.entries()) {
        const item = shown.nth(i);
        const claim = row[column(table, "claim")];
        assert.ok((await item.locator(".cause-claim").textContent()).startsWith(plain(claim)), claim);
        const share = row[column(table, "saved_share")];
        const text = (
          await item
            .locator(".cause-number")
            .first()
            .evaluate((one) => one.firstChild.textContent)
        ).trim();
        if (share === null) assert.equal(text, "unknown");
        else says(text, share, claim);
        const finding = body.findings.find((one) => one.claim === claim);
        if (i === 1) {
          assert.equal(await item.locator(".cause-body").isVisible(), false);
          await item.locator("summary").focus();
          await page.keyboard.press("Enter");
        }
        if (i > 1) continue;
        await item.locator(".cause-body").waitFor({ state: "visible" });
        assert.ok((await item.locator(".cause-body").textContent()).includes(plain(finding.falsifier)), claim);
        await counts(item.locator("a.way"), (finding.links ?? []).length, claim);
      }
    }
    assert.ok(seen > 0, "no run has a cause to look at");
  },
  "the protocol has nine steps in order, each with a word and a sign": async (page, origin, run) => {
    await visit(page, origin, { run, page: "diagnose" });
    const table = tableOf(await report(origin, "diagnose", run), "protocol");
    const steps = page.locator(".protocol > li");
    await counts(steps, table.rows.length);
    assert.equal(table.rows.length, 9);
    for (const [i, row] of table.rows.entries()) {
      assert.equal(await steps.nth(i).locator(".protocol-question").textContent(), row[column(table, "question")]);
      const tone = steps.nth(i).locator(".tone");
      const sign = await tone.locator(".tone-sign").textContent();
      assert.equal(await tone.textContent(), `${sign}${row[column(table, "verdict")]}`);
      assert.ok(sign.length > 0);
    }
  },
  "checks are kept by their verdict, and the address says so": async (page, origin, run) => {
    await visit(page, origin, { run, page: "diagnose" });
    const verdicts = cells(tableOf(await report(origin, "diagnose", run), "checks"), "verdict");
    const rows = page.locator(".checks tbody tr");
    await counts(rows, verdicts.length);
    for (const verdict of new Set(verdicts)) {
      const wanted = verdicts.filter((one) => one === verdict).length;
      await page.getByRole("button", { name: `${verdict} ${wanted}`, exact: true }).click();
      await waitForParam(page, "check", new RegExp(`^${verdict}$`));
      await counts(rows, wanted, verdict);
      assert.deepEqual([...new Set(await rows.evaluateAll((all) => all.map((one) => one.dataset.verdict)))], [verdict]);
    }
    await page.getByRole("button", { name: `all ${verdicts.length}`, exact: true }).click();
    await waitForParam(page, "check", /^$/);
  },
  "a finding's link sets page and scope, and marks the row; Back comes back": async (page, origin, run) => {
    const body = await report(origin, "comm", run);
    const link = body.findings.flatMap((one) => one.links ?? []).find((one) => one.row !== null && one.analysis === "comm");
    assert.ok(link, "no finding of comm has a link to a row");
    await visit(page, origin, { run, page: "comm" });
    await page.locator("a.way", { hasText: link.row }).first().click();
    assert.equal(await waitForParam(page, "mark", /./), `${link.table}:${link.row}`);
    if (link.devices.length > 0) assert.equal(await param(page, "devices"), link.devices.join(","));
    await settled(page);
    const marked = page.locator("tr.marked");
    await marked.first().waitFor();
    assert.ok((await marked.first().innerText()).includes(link.row));
    const far = body.findings.flatMap((one) => one.links ?? []).find((one) => one.analysis === "timeline" && one.window_ps !== null);
    if (far === undefined) return;
    await page
      .locator("a.way", { hasText: /^timeline/ })
      .first()
      .click();
    await waitForParam(page, "page", /^timeline$/);
    const [from, to] = (await waitForParam(page, "view", /\.\./)).split("..").map(Number);
    assert.ok(from <= far.window_ps[0] && to >= far.window_ps[1], `${from}..${to} does not show ${far.window_ps}`);
    await page.goBack();
    await waitForParam(page, "page", /^comm$/);
  },
  "a finding is copied as text": async (page, origin, run) => {
    await visit(page, origin, { run, page: "comm" });
    const copy = page.locator(".finding button.copy").first();
    await copy.focus();
    await page.keyboard.press("Enter");
    await copy.getByText("Copied", { exact: true }).waitFor();
  },
  "communication adds up, and a device becomes the scope": async (page, origin, run) => {
    await visit(page, origin, { run, page: "comm" });
    const body = await report(origin, "comm", run);
    const devices = tableOf(body, "devices");
    const residuals = cells(devices, "residual_ps");
    assert.match(await page.locator(".identity").innerText(), residuals.every((one) => one === 0) ? /adds up/ : /does not add up/);
    const [busy, exposed, idle] = ["busy_ps", "exposed_ps", "idle_ps"].map((id) => cells(devices, id));
    const bars = panel(page, "Where the steps go, by device").locator(".hbars > li");
    await counts(bars, devices.rows.length);
    says(await bars.first().locator(".hbar-text").innerText(), busy[0] + exposed[0] + idle[0], "the first device");
    const kinds = tableOf(body, "kinds");
    const drawn = panel(page, "By kind of collective").locator(".hbars > li");
    await counts(drawn, kinds.rows.length);
    says((await drawn.first().locator(".hbar-text").innerText()).split(" · ")[0], cells(kinds, "exposed_ps")[0], "the first kind");
    await bars.nth(1).locator("button").click();
    assert.equal(await waitForParam(page, "devices", /./), cells(devices, "device")[1]);
  },
  "the critical path is walked by keyboard, and Enter shows a stretch on the timeline": async (page, origin, run) => {
    await visit(page, origin, { run, page: "critical-path" });
    const chain = tableOf(await report(origin, "critical-path", run), "chain");
    await page.getByRole("group", { name: /^The critical path/ }).focus();
    await page.keyboard.press("Home");
    const part = cells(chain, "part")[0];
    await page.locator(".chain-said", { hasText: part }).waitFor();
    await page.keyboard.press("Enter");
    await waitForParam(page, "page", /^timeline$/);
    const [from, to] = (await waitForParam(page, "view", /\.\./)).split("..").map(Number);
    const [start, time] = [cells(chain, "start_ps")[0], cells(chain, "time_ps")[0]];
    assert.ok(from <= start && to >= start + time, `${from}..${to}`);
  },
  "what-if answers what is asked, by a click and by words": async (page, origin, run) => {
    await visit(page, origin, { run, page: "critical-path" });
    await page.getByRole("button", { name: "communication free", exact: true }).click();
    await waitForParam(page, "if", /^communication free$/);
    await settled(page);
    const bars = panel(page, "What if").locator(".hbars > li");
    const check = async (asked) => {
      const table = tableOf(await report(origin, "critical-path", run, { if: asked }), "what_if");
      const steps = cells(table, "step_ps");
      await counts(bars, steps.length + 1, asked);
      for (const [i, step] of steps.entries())
        says(
          (
            await bars
              .nth(i + 1)
              .locator(".hbar-text")
              .innerText()
          ).split(" · ")[0],
          step,
          `${asked}, row ${i}`,
        );
    };
    await check("communication free");
    await page.getByRole("textbox", { name: "If" }).fill("communication free; no idle");
    await page.getByRole("button", { name: "Project", exact: true }).click();
    await waitForParam(page, "if", /no idle$/);
    await settled(page);
    await check("communication free; no idle");
    assert.equal(await page.getByRole("button", { name: "no idle", exact: true }).getAttribute("aria-pressed"), "true");
    await page.getByRole("button", { name: "Clear", exact: true }).click();
    await waitForParam(page, "if", /^$/);
  },
  "a change that nobody understands is refused in words": async (page, origin, run) => {
    await visit(page, origin, { run, page: "critical-path", if: "make it faster" });
    await page.getByRole("alert").first().waitFor();
    assert.match(await page.getByRole("alert").first().innerText(), /make it faster/);
  },
  "flags of a pasted script carry a status each": async (page, origin, run) => {
    await visit(page, origin, { run, page: "audit-flags" });
    const script = 'export XLA_FLAGS="--xla_dump_to=/tmp/dump --xla_no_such_flag_is_known=true"';
    await page.getByRole("textbox", { name: "The text of a launch script" }).fill(script);
    await page.getByRole("button", { name: "Audit", exact: true }).click();
    await waitForParam(page, "script", /xla_dump_to/);
    await settled(page);
    const flags = tableOf(await report(origin, "audit-flags", run, { script }), "flags");
    const rows = panel(page, flags.title).locator("tbody tr");
    await counts(rows, flags.rows.length);
    for (const [i, status] of cells(flags, "status").entries())
      assert.ok((await rows.nth(i).locator(".tone").first().textContent()).endsWith(status), status);
  },
  "compute time is drawn by phase, by kind and by shortfall as the API has it": async (page, origin, run) => {
    await visit(page, origin, { run, page: "compute" });
    const body = await report(origin, "compute", run);
    for (const [title, id, name, value] of [
      ["By phase", "phases", "phase", "self_ps"],
      ["By kind of work", "categories", "category", "self_ps"],
      ["Most time beyond the roofline", "groups", "group", "shortfall_ps"],
    ]) {
      const table = tableOf(body, id);
      const first = panel(page, title).locator(".hbars > li").first();
      assert.equal(await first.locator(".hbar-name").innerText(), cells(table, name)[0], title);
      says((await first.locator(".hbar-text").innerText()).split(" · ")[0], cells(table, value)[0], title);
    }
    assert.equal(await page.locator('.nav a.under[data-nav="compute-mfu"]').count(), 1);
  },
  "input begins with its verdict, and sets demand against supply": async (page, origin, _run, _other, bound) => {
    await visit(page, origin, { run: bound, page: "input" });
    const { values, tables } = await report(origin, "input", bound);
    const tone = page.locator(".verdict-box .tone");
    assert.ok((await tone.textContent()).endsWith(values.verdict.value), values.verdict.value);
    const rates = panel(page, "Demand against supply").locator(".hbars > li");
    await counts(rates, ["demand_rate", "supply_rate", "batch_rate"].filter((id) => values[id].value !== null).length);
    says(await rates.first().locator(".hbar-text").innerText(), values.demand_rate.value, "demand");
    const stages = tables.find((one) => one.id === "stages");
    assert.equal(
      await panel(page, "Stages, by work per step").locator(".hbar-name").first().innerText(),
      stages.rows[0][column(stages, "stage")],
    );
  },
};
