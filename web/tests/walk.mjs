// Walks through the built page over the mock, as a person with mouse and keyboard would, under the
// server's content policy. Exits 1 with what went wrong. CHROMIUM names the browser's program.
import assert from "node:assert/strict";

import { chromium } from "playwright-core";

import { serveDist } from "../mock/server.mjs";

const PORT = 7174;
const origin = `http://127.0.0.1:${PORT}`;
const server = await serveDist(PORT);
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
const problems = [];
page.on("pageerror", (error) => problems.push(error.message));
page.on("console", (message) => message.type() === "error" && !message.text().includes("status of 4") && problems.push(message.text()));

const param = (name) => new URL(page.url()).searchParams.get(name);
const open = async (query) => {
  await page.goto(`${origin}/${query}`);
  await page.waitForLoadState("networkidle");
};
const settled = () => page.waitForTimeout(450);

const steps = {
  "a diluted run says so first": async () => {
    await open("?run=serving-v6e");
    assert.match(await page.locator(".finding").first().innerText(), /diluted/);
  },
  "unknown is a word": async () => {
    await open("?run=cpu");
    assert.match(await page.locator(".card", { hasText: "FLOP rate" }).innerText(), /unknown/);
  },
  "a broken run shows the server's words and hint in place": async () => {
    await open("?run=broken");
    assert.match(await page.getByRole("alert").first().innerText(), /byte 1,204[\s\S]*Record it again/);
  },
  "the wheel zooms and the address follows": async () => {
    await open("?page=timeline");
    await page.mouse.move(800, 300);
    for (let i = 0; i < 6; i += 1) await page.mouse.wheel(0, -200);
    await settled();
    assert.match(param("view") ?? "", /^\d+\.\.\d+$/);
  },
  "a click shows an event's details": async () => {
    await page.locator("canvas").click({ position: { x: 300, y: 60 } });
    await page.getByText("self time").waitFor();
  },
  "full stop walks on and F fits the run": async () => {
    const before = await page.locator(".details h2").innerText();
    await page.keyboard.press(".");
    await page.waitForFunction((text) => document.querySelector(".details h2")?.textContent !== text, before);
    await page.keyboard.press("f");
    await settled();
    assert.equal(param("view"), null);
  },
  "held W zooms": async () => {
    await page.keyboard.down("w");
    await page.waitForTimeout(400);
    await page.keyboard.up("w");
    await settled();
    assert.notEqual(param("view"), null);
  },
  "a measured stretch becomes the scope of every page": async () => {
    await page.keyboard.down("Shift");
    await page.mouse.move(600, 300);
    await page.mouse.down();
    await page.mouse.move(900, 300, { steps: 4 });
    await page.mouse.up();
    await page.keyboard.up("Shift");
    await page.getByRole("button", { name: "Scope to selection" }).click();
    await page.keyboard.press("4");
    await page.waitForLoadState("networkidle");
    assert.equal(param("page"), "ops");
    assert.match(param("window") ?? "", /^\d+\.\.\d+$/);
  },
  "thousands of rows keep few elements": async () => {
    assert.ok((await page.locator("tbody tr").count()) < 80);
  },
  "sorting, filtering and choosing a row are in the address": async () => {
    await page.getByRole("button", { name: "Times run" }).click();
    await page.getByRole("searchbox").fill("all-reduce -1");
    await page.locator("tbody tr:not(.spacer)").nth(1).click();
    await settled();
    assert.equal(param("sort"), "-occurrences");
    assert.equal(param("q"), "all-reduce -1");
    assert.match(param("sel") ?? "", /^all-reduce/);
    assert.ok(!/1/.test(param("sel").slice(11)));
  },
  "the same address gives the same page": async () => {
    const name = await page.locator(".details h2").innerText();
    await page.reload();
    await page.waitForLoadState("networkidle");
    assert.equal(await page.locator(".details h2").innerText(), name);
  },
  "the table leaves as CSV in base units": async () => {
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "CSV" }).first().click()]);
    const stream = await download.createReadStream();
    let text = "";
    for await (const chunk of stream) text += chunk;
    assert.match(text, /^name,category,module,self_ps,/);
    assert.equal(text.trimEnd().split("\r\n").length, 4001);
  },
  "the roofline's rows are reached by keyboard": async () => {
    await open("?page=roofline");
    await page.locator("table.data").focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    assert.equal(await page.locator("tr.selected").count(), 1);
    assert.equal(await page.locator("circle.selected").count(), 1);
    assert.equal(await page.locator(".gap-line").count(), 1);
  },
  "help opens on ? and closes on Escape": async () => {
    await page.keyboard.press("?");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
  },
  "back returns to the page before": async () => {
    await page.getByRole("link", { name: "Steps", exact: true }).click();
    assert.equal(param("page"), "steps");
    await page.goBack();
    assert.equal(param("page"), "roofline");
  },
  "the chosen colours last": async () => {
    await page.getByRole("button", { name: /^Colours/ }).click();
    await page.getByRole("button", { name: /^Colours/ }).click();
    await page.reload();
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
  },
};

for (const [name, step] of Object.entries(steps)) {
  try {
    await step();
    process.stdout.write(`ok   ${name}\n`);
  } catch (error) {
    problems.push(`${name}: ${error.message}`);
    process.stdout.write(`FAIL ${name}\n`);
  }
}
await browser.close();
server.close();
for (const problem of problems) process.stderr.write(`${problem}\n`);
process.exitCode = problems.length > 0 ? 1 : 0;
