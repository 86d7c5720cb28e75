// Many runs, a row each: sorted, filtered, and each a way to its run.
import assert from "node:assert/strict";

import { PHONE, counts, overflow, param, settled, visit, waitForParam } from "./browser.mjs";
import { ask } from "./server.mjs";

const rows = (page) => page.locator("tbody tr:not(.spacer)");

export const fleetSteps = {
  "the fleet has a row a run, sorted and filtered in the address, and leads to each": async (page, origin) => {
    await visit(page, origin, {});
    await page.locator('.nav a[data-nav="fleet"]').click();
    await waitForParam(page, "page", /^fleet$/);
    await settled(page);
    const { body } = await ask(origin, "fleet");
    const [table] = body.tables;
    const at = (id) => table.columns.findIndex((column) => column.id === id);
    assert.ok(table.rows.length >= 10, `${table.rows.length} runs`);
    assert.match(await page.locator(".panel-note").first().innerText(), new RegExp(`^${table.rows.length}, newest first, 1 not read$`));
    await page.getByRole("button", { name: /^Step/ }).click();
    await waitForParam(page, "sort", /^-step_time_mean_ps$/);
    const slowest = table.rows.reduce((a, b) => ((b[at("step_time_mean_ps")] ?? 0) > (a[at("step_time_mean_ps")] ?? 0) ? b : a));
    assert.equal(await rows(page).first().locator("td").first().innerText(), slowest[0]);
    await page.getByRole("searchbox", { name: /^Filter the runs/ }).fill("cpu-train");
    await waitForParam(page, "q", /^cpu-train$/);
    await counts(rows(page), table.rows.filter((row) => row[0].includes("cpu-train")).length);
    // What the address says is there again with the page.
    await page.reload();
    await settled(page);
    const link = rows(page).first().getByRole("link");
    const name = await link.innerText();
    await link.click();
    await waitForParam(page, "run", /./);
    const { runs } = (await ask(origin, "runs")).body;
    assert.equal(await param(page, "run"), runs.find((run) => run.name === name).id);
    await page.goBack();
    await settled(page);
    await rows(page).first().locator("td").nth(1).click();
    const way = page.getByRole("link", { name: "Why is it slow?" });
    assert.equal(new URL(await way.getAttribute("href"), origin).searchParams.get("page"), "diagnose");
  },
  "a fleet of a last day that has no run is empty, and the page fits a phone": async (page, origin) => {
    await visit(page, origin, { page: "fleet", since: "2999-01-01T00:00:00Z" });
    await page.getByText("No rows").waitFor();
    await page.setViewportSize(PHONE);
    await visit(page, origin, { page: "fleet" });
    assert.equal(await overflow(page), 0);
  },
};
