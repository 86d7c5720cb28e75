// SQL on its page, over a server that was started with --sql: node tests/e2e/query.mjs ORIGIN
import assert from "node:assert/strict";

import { DESK, PHONE, launch, openPage, overflow, settled, visit, waitForParam } from "./browser.mjs";

const [origin = ""] = process.argv.slice(2);
const run = (await (await fetch(`${origin}/api/runs`)).json()).runs.find((one) => one.path.includes("/tpu-train/")).id;
const browser = await launch();
try {
  const { page, problems } = await openPage(browser, { viewport: DESK });
  await visit(page, origin, { run });
  await page.locator('.nav a[data-nav="query"]').click();
  await waitForParam(page, "page", /^query$/);
  await settled(page);
  const editor = page.locator("textarea.query-text");
  const asks = async (sql) => {
    await editor.fill(sql);
    await editor.press("Control+Enter");
  };

  // A name from the schema, rows, and the way to the timeline.
  await page.locator(".query-schema summary", { hasText: /^step$/ }).click();
  await editor.fill("SELECT ");
  await page.locator(".query-schema details[open] button", { hasText: /^start_ps$/ }).click();
  assert.equal(await editor.inputValue(), "SELECT start_ps");
  await asks("SELECT name, start_ps, dur_ps FROM event WHERE kind = 'op' ORDER BY dur_ps DESC, start_ps LIMIT 3");
  const rows = page.locator('section[aria-label="Rows"]');
  await rows.getByText("3 rows").waitFor();
  await waitForParam(page, "sql", /^SELECT name/);
  await rows.locator('[role="row"], tr').nth(1).click();
  await page.getByRole("button", { name: "Show on the timeline" }).first().click();
  await waitForParam(page, "page", /^timeline$/);
  await waitForParam(page, "view", /\.\./);

  // Rows with words and a number are bars, a number that rises from row to row is a line.
  const shown = rows.getByRole("group", { name: "Shown as" });
  await visit(page, origin, { run, page: "query", sql: "SELECT step, avg(dur_ps) AS mean_ps FROM step GROUP BY step ORDER BY step" });
  await page.getByRole("button", { name: "Ask", exact: true }).click();
  await shown.getByRole("button", { name: "Chart" }).click();
  await rows.locator("svg path.line").waitFor();
  await waitForParam(page, "as", /^chart$/);
  await asks("SELECT name, sum(dur_ps) AS dur_ps FROM event WHERE kind = 'op' GROUP BY name ORDER BY 2 DESC, 1 LIMIT 5");
  await rows.getByText("5 rows").waitFor();
  assert.equal(await rows.locator(".hbars li").count(), 5);
  await shown.getByRole("button", { name: "Table" }).click();

  // What was asked is in the address; a canned question; what is wrong.
  await visit(page, origin, { run, page: "query", sql: "SELECT 6 * 7 AS answer" });
  assert.equal(await editor.inputValue(), "SELECT 6 * 7 AS answer");
  await page.getByLabel("Canned questions").selectOption("time-by-class");
  await rows.waitFor();
  assert.match(await editor.inputValue(), /FROM account/);
  await asks("SELECT nme FROM event");
  await page.getByText("there is no column nme (line 1, column 8)").waitFor();
  await page.getByText("the nearest columns are name").waitFor();

  // A query that would take for ever is stopped.
  await asks("SELECT count(*) FROM event a, event b, event c WHERE a.dur_ps < b.dur_ps OR b.dur_ps < c.dur_ps");
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByRole("button", { name: "Ask", exact: true }).waitFor();

  const { page: phone } = await openPage(browser, { viewport: PHONE });
  await visit(phone, origin, { run, page: "query" });
  await phone.locator("textarea.query-text").waitFor();
  assert.ok((await overflow(phone)) <= 0, "nothing stands beside a phone's screen");
  assert.deepEqual(problems, []);
} finally {
  await browser.close();
}
