// The file that `haloscope report` writes: opened from the disk, with the network shut, in both themes, on a phone and on paper.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

import { violations } from "./axe.mjs";
import { DESK, PHONE, assertShows, launch, overflow } from "./browser.mjs";
import { binary, logFolder, web } from "./server.mjs";

const MOST_BYTES = 3_000_000;

/** A page from the disk that may ask for nothing else; what it says or asks is kept in `problems`. */
async function openFile(browser, file, options) {
  const context = await browser.newContext({ viewport: DESK, offline: true, ...options });
  const page = await context.newPage();
  const problems = [];
  const url = pathToFileURL(file).href;
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && problems.push(message.text()));
  await page.route("**", (route) => {
    const asked = route.request().url();
    if (asked === url || asked.startsWith("data:")) return route.continue();
    problems.push(`asked ${asked}`);
    return route.abort();
  });
  await page.goto(url);
  await page.locator("main").waitFor();
  return { page, problems, close: () => context.close() };
}

const reported = (page) => page.evaluate(() => JSON.parse(document.getElementById("data").textContent));

/** The parts that a run of this kind must have. */
async function parts(browser, file, { timeline, roofline }) {
  const { page, problems, close } = await openFile(browser, file);
  assert.ok(statSync(file).size < MOST_BYTES, `${statSync(file).size} bytes`);
  const data = await reported(page);
  for (const heading of ["Findings", "Overview", "Steps", "Ops", "Roofline", "Memory: Peak"]) {
    await page.getByRole("heading", { level: 2, name: heading, exact: true }).first().waitFor();
  }
  const claims = new Set(Object.values(data.reports).flatMap((one) => (one.report?.findings ?? []).map((finding) => finding.claim)));
  assert.equal(await page.locator("#findings .finding").count(), claims.size);
  const { values } = data.reports.overview.report;
  for (const [id, value] of Object.entries(values).filter(([, one]) => one.value !== null && one.status !== "unknown")) {
    const shown = await page.locator(`#overview [data-id="${id}"] .card-value`).first().textContent();
    assertShows(shown, value, id);
  }
  if (timeline) {
    const { window, tracks } = data.timeline;
    assert.equal(await page.locator("#timeline svg").count(), window.tracks.filter((track) => track.slices.length > 0).length);
    assert.ok(tracks.length > 0 && (await page.locator("#timeline path").count()) > 0);
    await page.locator("#timeline svg").first().hover();
    assert.match(await page.locator(".mini-said").textContent(), / at /);
  }
  if (roofline) assert.ok((await page.locator("#roofline circle").count()) > 0);
  const more = page.locator("#ops button", { hasText: /^Show all/ });
  if ((await more.count()) > 0) {
    await more.first().click();
    assert.equal(await page.locator("#ops table").first().locator("tbody tr").count(), data.reports.ops.report.tables[0].rows.length);
  }
  assert.deepEqual(problems, []);
  await close();
}

/** Both themes for axe, a phone without a horizontal scroll bar, and paper. */
async function manners(browser, file) {
  for (const colorScheme of ["light", "dark"]) {
    const { page, problems, close } = await openFile(browser, file, { colorScheme });
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), colorScheme);
    assert.deepEqual(await violations(page, `report, ${colorScheme}`), []);
    await page.screenshot({ path: join(web, `test-results/e2e/report-${colorScheme}.png`), fullPage: true });
    await page.setViewportSize(PHONE);
    assert.equal(await overflow(page), 0);
    await page.emulateMedia({ media: "print" });
    assert.equal(await page.locator(".report-nav").isVisible(), false);
    assert.ok((await page.pdf()).length > 10_000);
    assert.deepEqual(problems, []);
    await close();
  }
}

/** Writes reports of some runs and looks at them; `check` names what is looked at. */
export async function reportChecks(browser, folder, check) {
  const out = mkdtempSync(join(tmpdir(), "haloscope-report-"));
  const write = (run, ...more) => {
    const file = join(out, `${run}.html`);
    execFileSync(binary(), ["report", join(folder, run), "-o", file, ...more], { stdio: "pipe" });
    return file;
  };
  try {
    await check("report tpu-train: one file with all parts", () => parts(browser, write("tpu-train"), { timeline: true, roofline: true }));
    await check("report gpu-train, steady", () => parts(browser, write("gpu-train", "--steady"), { timeline: true, roofline: true }));
    await check("report cpu-train", () => parts(browser, write("cpu-train"), { timeline: true, roofline: false }));
    await check("report: axe, a phone, paper", () => manners(browser, write("tpu-train")));
  } finally {
    rmSync(out, { recursive: true, force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [browser, log] = [await launch(), logFolder()];
  try {
    await reportChecks(browser, log.folder, async (name, work) => {
      await work();
      process.stdout.write(`ok   ${name}\n`);
    });
  } finally {
    await browser.close();
    log.remove();
  }
}
