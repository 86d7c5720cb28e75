// Drives the real program through a real browser: `npm run e2e`. HALOSCOPE_BIN names the program, CHROMIUM the browser,
// HALOSCOPE_WEB_ROOT a folder to serve the page from instead of the one built in. Screenshots go to test-results/e2e.
// `--looks` only looks at pages, `--acts` only does as users do; each has its own browser and servers. `--whole` walks over every run,
// looks at every page of two of them at both sizes in both themes, and holds every page against axe in both; without it three runs are
// walked over, every page of one of them, each page is seen in two of the four, and axe takes the themes in turn.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

import { demoSteps, folderSteps } from "./act.mjs";
import { compareSteps } from "./compare.mjs";
import { programSteps } from "./programs.mjs";
import { audit, violations } from "./axe.mjs";
import { captureChecks } from "./capture.mjs";
import { DESK, launch, openPage, visit } from "./browser.mjs";
import { fleetSteps } from "./fleet.mjs";
import { habitSteps, onEachScreen } from "./habits.mjs";
import { ledgerServer, ledgerSteps } from "./ledger.mjs";
import { liveSteps } from "./live.mjs";
import { reportChecks } from "./report.mjs";
import { ask, binary, logFolder, start, traces, web, wireBytes } from "./server.mjs";
import { compareShots } from "./shots.mjs";
import { timelineSteps } from "./timeline.mjs";
import { OWN, walkParts, walkRun } from "./walk.mjs";
import { whySteps } from "./why.mjs";

/** Everything, as before a release. */
const WHOLE = process.argv.includes("--whole");

/** Runs whose every page is seen; of the others the pages of our own. */
const WALKED = WHOLE ? /^(tpu-train|gpu-train)\// : /^tpu-train\//;

/** Of the others these are walked over where not everything is looked at. */
const STAND_FOR_OTHERS = /^(gpu-train|cpu-train)\//;

/** Of the profiles beside the checkout: a large forged one with many hosts, and a real one. `--all` takes every one. */
const BESIDE = process.argv.includes("--all") ? /^(?!corrupt)/ : /straggler_v6e32|cpu-jax-train/;

const failures = [];
const begun = Date.now();

async function check(name, work) {
  const from = Date.now();
  try {
    await work();
    process.stdout.write(`ok   ${name} (${((Date.now() - from) / 1000).toFixed(1)} s)\n`);
  } catch (error) {
    failures.push(`${name}: ${error.message}`);
    process.stdout.write(`FAIL ${name} (${((Date.now() - from) / 1000).toFixed(1)} s): ${error.message}\n`);
  }
}

async function actAll(browser, origin, steps, ...rest) {
  const { page, problems, close } = await openPage(browser, { acceptDownloads: true });
  for (const [name, step] of Object.entries(steps)) {
    await check(name, async () => {
      await page.setViewportSize(DESK);
      await step(page, origin, ...rest);
      assert.deepEqual(problems.splice(0), []);
    });
  }
  await close();
}

/** Runs are walked over two at a time: while one waits for the server the other draws. */
async function walkAll(browser, origin, runs, name, kind) {
  const queue = [...runs];
  const walker = async () => {
    for (let run = queue.shift(); run !== undefined; run = queue.shift()) {
      const id = run.id;
      await check(`${name} ${id}: every page`, () => walkRun(browser, origin, id, `${name}-${id}`, kind));
    }
  };
  await Promise.all([walker(), walker()]);
}

/** Where the page that is served was built. */
const dist =
  process.env.HALOSCOPE_WEB_ROOT === undefined ? join(web, "../crates/serve/dist") : resolve(web, process.env.HALOSCOPE_WEB_ROOT);

async function pageIsCurrent(origin) {
  for (const name of readdirSync(dist, { recursive: true })) {
    if (statSync(join(dist, name)).isDirectory() || name === "SOURCE_HASH") continue;
    const built = await readFile(join(dist, name), "utf8");
    const served = await (await fetch(`${origin}/${name === "index.html" ? "" : name}`)).text();
    assert.ok(built === served, `${name} is not the built one: build the program again after \`npm run build\``);
  }
}

/** Bytes on the wire of everything that a page asks the server for, but the API's answers. */
async function loadedFor(browser, origin, page) {
  const { page: tab, close } = await openPage(browser);
  const names = new Set();
  tab.on("request", (request) => names.add(new URL(request.url()).pathname));
  await visit(tab, origin, { page });
  await close();
  let total = 0;
  for (const name of [...names].filter((one) => !one.startsWith("/api/"))) {
    const { bytes, packed } = await wireBytes(origin + name);
    assert.ok(packed || name.endsWith(".svg") || name === "/", `${name} is not packed`);
    total += bytes;
  }
  return { total, names };
}

async function pageIsSmall(browser, origin) {
  const first = await loadedFor(browser, origin, "overview");
  process.stdout.write(`     ${(first.total / 1000).toFixed(0)} kB on the wire for the first page\n`);
  assert.ok(first.total < 150_000, `${first.total} bytes`);
  // What one page alone needs comes with that page.
  const pages = [...first.names].filter((name) => name.startsWith("/pages/"));
  assert.deepEqual(pages, ["/pages/OverviewPage.js"]);
  assert.ok(!first.names.has("/layout.worker.js"));
}

/** What looks at pages and changes nothing: every page of the runs, axe, pictures, reports as files. */
async function looks(browser, serve, log) {
  const demo = await serve("demo");
  await check("the page is the built one", () => pageIsCurrent(demo));
  await check("the first page is small and loads nothing of the others", () => pageIsSmall(browser, demo));
  await walkAll(browser, demo, (await ask(demo, "runs")).body.runs, "demo", { pages: OWN });

  const folder = await serve("serve", log.folder);
  const { runs } = (await ask(folder, "runs")).body;
  const whole = runs.filter((run) => !run.id.startsWith("broken/"));
  const full = whole.filter((run) => WALKED.test(run.id));
  const others = whole.filter((run) => !WALKED.test(run.id) && (WHOLE || STAND_FOR_OTHERS.test(run.id)));
  // Side by side the audit and the walks leave no core without work.
  const audited = runs.find((run) => run.id.startsWith("tpu-train/"));
  const serious = check("nothing serious for axe, light and dark", async () =>
    assert.deepEqual(await audit(browser, folder, audited.id, WHOLE), []),
  );
  await walkAll(browser, folder, full, "fixture", { isWhole: WHOLE, listen: WHOLE ? undefined : violations });
  await walkAll(browser, folder, others, "fixture", { pages: OWN });
  await serious;
  const program = runs.find((run) => run.id.startsWith("cpu-train/")).id;
  await check("every tab, and analyses without a page", () => walkParts(browser, folder, program));
  await onEachScreen(browser, folder, audited.id, check);
  await check("the pictures are those that are kept", async () =>
    assert.deepEqual(await compareShots(browser, { origin: folder, run: audited.id }, demo), []),
  );
  await reportChecks(browser, log.folder, check);

  if (existsSync(traces)) {
    const beside = await serve("serve", traces);
    const all = (await ask(beside, "runs")).body.runs.filter((run) => BESIDE.test(run.id));
    await walkAll(browser, beside, all, "trace", { pages: OWN });
  } else {
    process.stdout.write("skip the walk over profiles beside the checkout: there are none\n");
  }
}

/** What does as a user does: clicks, keys, files that come and grow, captures. */
async function acts(browser, serve, log) {
  await actAll(browser, await serve("demo"), demoSteps);

  const folder = await serve("serve", log.folder);
  await actAll(browser, folder, folderSteps, log.names);
  const { runs } = (await ask(folder, "runs")).body;
  const idOf = (name) => runs.find((run) => run.id.startsWith(`${name}/`)).id;
  await actAll(browser, folder, programSteps, idOf("cpu-train"));
  await actAll(browser, folder, whySteps, idOf("tpu-train"), idOf("gpu-train"), idOf("tpu-input-bound"));
  await actAll(browser, folder, compareSteps, { a: idOf("tpu-gate"), b: idOf("tpu-gate-slower"), far: idOf("gpu-train") });
  await actAll(browser, folder, timelineSteps, idOf("tpu-train"), join(log.folder, "tpu-train"), idOf("tpu-run-scan"));
  await actAll(browser, folder, habitSteps, idOf("tpu-train"));

  await actAll(browser, folder, fleetSteps);

  await check("a server without a ledger does not name one", async () => {
    assert.equal((await ask(folder, "ledger")).status, 404);
    assert.equal((await ask(folder, "analyses")).body.ledger, false);
  });
  const kept = await ledgerServer(log);
  try {
    await actAll(browser, kept.origin, ledgerSteps, kept.ledger);
  } finally {
    kept.stop();
  }

  const growing = mkdtempSync(join(tmpdir(), "haloscope-live-"));
  try {
    await actAll(browser, await serve("serve", growing), liveSteps, growing, join(log.folder, "tpu-train"));
  } finally {
    rmSync(growing, { recursive: true, force: true });
  }

  await captureChecks(browser, check);
}

async function main() {
  process.stdout.write(`${binary()}\n`);
  const chosen = Object.entries({ "--looks": looks, "--acts": acts }).filter(([flag]) => process.argv.includes(flag));
  for (const part of chosen.length > 0 ? chosen.map(([, part]) => part) : [looks, acts]) {
    const browser = await launch();
    const log = logFolder();
    const servers = [];
    const serve = async (...args) => {
      const server = await start(...args);
      servers.push(server);
      return server.origin;
    };
    try {
      await part(browser, serve, log);
    } finally {
      await browser.close();
      for (const server of servers) server.stop();
      log.remove();
    }
  }
}

await main().catch((error) => failures.push(error.message));
for (const failure of failures) process.stderr.write(`${failure}\n`);
process.stdout.write(
  `${failures.length === 0 ? "all well" : `${failures.length} failed`} after ${((Date.now() - begun) / 1000).toFixed(0)} s\n`,
);
process.exitCode = failures.length > 0 ? 1 : 0;
