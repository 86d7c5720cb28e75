// The history of runs: a ledger that the program itself wrote, beside lines that were made, over a server that has some of the runs.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { appendFileSync } from "node:fs";
import { join } from "node:path";

import { PHONE, counts, overflow, param, settled, visit, waitForParam } from "./browser.mjs";
import { ask, binary, start } from "./server.mjs";

/** Step times in ms: up by 6% with the seventh; the ninth was taken back. */
const STEPS = [10.02, 9.98, 10.01, 9.99, 10.03, 9.97, 10.61, 10.58, 12, 10.62];

function made(i, ms) {
  const ps = Math.round(ms * 1e9);
  const metrics = {
    step_time_mean_ps: { value: ps, unit: "ps", status: "derived", samples: { n: 12, mean: ps, sd: 4e7 } },
    mfu: { value: 4 / ms, unit: "share", status: "derived" },
  };
  const time = `2026-11-${String(i).padStart(2, "0")}T08:00:00Z`;
  return { ledger: 1, time, run: `made/${i}`, commit: `c${i}`, metrics, decision: ms > 11 ? "revert" : "keep" };
}

/** A ledger beside the runs; its last two entries are runs of the server. */
export function ledgerOf(log) {
  const ledger = join(log.folder, "ledger");
  const add = (name, time) => {
    const entry = ["--ledger", ledger, "--time", time, "--writer", "e2e", "--commit", name];
    execFileSync(binary(), ["ledger", "add", join(log.folder, name), ...entry], { stdio: "pipe" });
  };
  add("tpu-train", "2026-11-20T08:00:00Z");
  add("tpu-input-bound", "2026-11-21T08:00:00Z");
  STEPS.forEach((ms, i) => appendFileSync(join(ledger, "made.jsonl"), `${JSON.stringify(made(i + 1, ms))}\n`));
  return ledger;
}

const histories = (page) => page.locator(".history");

export const ledgerSteps = {
  "the ledger is in the menu, with a chart a metric and a row an entry": async (page, origin) => {
    await visit(page, origin, {});
    await page.locator('.nav a[data-nav="ledger"]').click();
    await waitForParam(page, "page", /^ledger$/);
    await settled(page);
    const { body } = await ask(origin, "ledger");
    assert.equal(body.values.entry_count.value, STEPS.length + 2);
    await counts(histories(page), body.series.length);
    const steps = histories(page).first();
    await counts(steps.locator(".history-point"), body.series[0].points.length);
    await counts(steps.locator(".history-point.reverted"), 1);
    const changes = body.tables.find((table) => table.id === "change_points");
    const own = changes.rows.filter((row) => row[0] === body.series[0].id);
    assert.ok(
      own.some((row) => row[2] === 7),
      "the seventh entry is a change",
    );
    await counts(steps.locator(".history-change"), own.length);
    for (const finding of body.findings)
      assert.ok((await page.locator("main").textContent()).includes(finding.claim.slice(0, 40)), finding.claim);
  },
  "the advice stands first, with the score beside it": async (page, origin) => {
    await visit(page, origin, { page: "ledger" });
    const { body } = await ask(origin, "ledger/advice");
    const first = page.locator("section.panel").first();
    await counts(first.locator("article.finding"), body.findings.length);
    assert.equal(await first.locator("article.finding").first().getAttribute("data-id"), "advice");
  },
  "an entry is chosen on a chart, by pointer and by key, and leads to its run and to a comparison": async (page, origin) => {
    const runs = (await ask(origin, "runs")).body.runs;
    const idOf = (name) => runs.find((run) => run.id.startsWith(`${name}/`)).id;
    await visit(page, origin, { page: "ledger" });
    const chart = histories(page).first().locator(".keys");
    await chart.focus();
    await page.keyboard.press("Home");
    assert.equal(await waitForParam(page, "sel", /^\d+$/), "1");
    await page.getByText("this server does not have its run").waitFor();
    await page.keyboard.press("End");
    assert.equal(await waitForParam(page, "sel", /^12$/), "12");
    await page.getByRole("combobox", { name: "Compare with" }).waitFor();
    const link = page.getByRole("link", { name: "Open the run" });
    assert.equal(new URL(await link.getAttribute("href"), origin).searchParams.get("run"), idOf("tpu-input-bound"));
    await page.getByRole("combobox", { name: "Compare with" }).selectOption({ label: "entry 11, the one before" });
    await waitForParam(page, "page", /^compare$/);
    assert.equal(await param(page, "run"), idOf("tpu-train"));
    assert.equal(await param(page, "other"), idOf("tpu-input-bound"));
    await page.goBack();
    await waitForParam(page, "page", /^ledger$/);
  },
  "a line that is added is there after a look": async (page, origin, ledger) => {
    await visit(page, origin, { page: "ledger" });
    const before = await histories(page).first().locator(".history-point").count();
    appendFileSync(join(ledger, "made.jsonl"), `${JSON.stringify(made(25, 10.6))}\n`);
    await page.getByRole("button", { name: "Read again" }).click();
    await counts(histories(page).first().locator(".history-point"), before + 1);
  },
  "it fits a phone": async (page, origin) => {
    await page.setViewportSize(PHONE);
    await visit(page, origin, { page: "ledger", sel: "12" });
    assert.equal(await overflow(page), 0);
  },
  "labels that nothing has are said": async (page, origin) => {
    await visit(page, origin, { page: "ledger", label: "model=none" });
    await page.getByText("no entry of the ledger has the labels").first().waitFor();
  },
};

/** Serves the runs with the ledger; without one the menu does not name it. */
export async function ledgerServer(log) {
  const ledger = ledgerOf(log);
  return { ledger, ...(await start("serve", log.folder, "--ledger", ledger)) };
}
