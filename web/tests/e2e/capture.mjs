// A profile of a running JAX program, captured from the page: `node tests/e2e/capture.mjs`, or as a part of `npm run e2e`. Needs a
// Python with jax, which HALOSCOPE_JAX_PYTHON names; without one it says so and is left out.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { DESK, PHONE, launch, openPage, param, settled, visit, waitForParam } from "./browser.mjs";
import { ask, start } from "./server.mjs";

/** A training loop with annotated steps and a profiler server. */
const LOOP = `
import sys, time
import jax, jax.numpy as jnp
jax.profiler.start_server(int(sys.argv[1]))
@jax.jit
def step(x, w):
    return jnp.tanh(x @ w)
x = w = jnp.ones((256, 256))
print("ready", flush=True)
end, i = time.time() + 600, 0
while time.time() < end:
    with jax.profiler.StepTraceAnnotation("train", step_num=i):
        x = step(x, w).block_until_ready()
    i += 1
    time.sleep(0.005)
`;

/** A Python that has jax, else why there is none. */
export function jaxPython() {
  const program = process.env.HALOSCOPE_JAX_PYTHON;
  if (program === undefined || program === "") return { why: "HALOSCOPE_JAX_PYTHON names no Python with jax" };
  const found = spawnSync(program, ["-c", "import jax; print(jax.__version__)"], { encoding: "utf8", env: environment() });
  return found.status === 0
    ? { program }
    : { why: `${program} has no jax: ${found.error?.message ?? found.stderr.trim().split("\n").pop()}` };
}

function environment() {
  return { ...process.env, JAX_PLATFORMS: "cpu" };
}

function freePort() {
  return new Promise((done, fail) => {
    const server = createServer();
    server.on("error", fail);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });
}

/** Starts the loop; resolves when its steps run. */
export async function startLoop(program) {
  const port = await freePort();
  const child = spawn(program, ["-c", LOOP, `${port}`], { env: environment() });
  let said = "";
  await new Promise((done, fail) => {
    const hear = (chunk) => {
      said += chunk;
      if (said.includes("ready")) done();
    };
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    child.on("exit", (code) => fail(new Error(`the loop ended with ${code}: ${said}`)));
    setTimeout(() => fail(new Error(`the loop does not run: ${said}`)), 120_000).unref();
  });
  return { port, server: `localhost:${port}`, stop: () => child.kill("SIGKILL") };
}

const sessions = (folder) => {
  const profiles = join(folder, "plugins/profile");
  return existsSync(profiles) ? readdirSync(profiles).sort() : [];
};

async function openDialog(page) {
  await page.getByRole("button", { name: /^(Capture a profile|A capture is under way|A capture failed)/ }).click();
  const dialog = page.getByRole("dialog", { name: "Capture a profile" });
  await dialog.waitFor();
  await dialog.getByText("The session is saved below").waitFor();
  return dialog;
}

/** What is done with an empty log folder that is served, and a loop that runs. */
export const captureSteps = {
  "a wrong field is named before anybody is asked": async (page, origin) => {
    await page.goto(origin);
    // An empty folder offers it too.
    await page.getByRole("button", { name: "Capture one from a running program" }).click();
    const dialog = page.getByRole("dialog", { name: "Capture a profile" });
    await dialog.getByLabel("Servers").fill("localhost");
    await dialog.getByRole("button", { name: "Capture", exact: true }).click();
    assert.match(await dialog.getByRole("alert").innerText(), /host:port, such as localhost:9999; found localhost/);
    assert.equal((await ask(origin, "capture")).body.captures.length, 0);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "hidden" });
  },
  "a server that is not there is named, with what to do, and nothing is left": async (page, origin, loop, folder) => {
    const dialog = await openDialog(page);
    const nobody = await freePort();
    await dialog.getByLabel("Servers").fill(`localhost:${nobody}`);
    await dialog.getByRole("button", { name: "Capture", exact: true }).click();
    const alert = dialog.getByRole("alert");
    await alert.waitFor();
    assert.match(await alert.innerText(), new RegExp(`localhost:${nobody}.*expected a profiler service`, "s"));
    assert.match(await alert.innerText(), /start_server/);
    assert.deepEqual(sessions(folder), []);
    assert.equal(await dialog.getByRole("button", { name: "Try again" }).count(), 1);
  },
  "a capture that is ended leaves nothing": async (page, origin, loop, folder) => {
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Servers").fill(loop.server);
    await dialog.getByLabel("Duration").fill("30s");
    await dialog.getByRole("button", { name: "Try again" }).click();
    await dialog.getByText(/^Recording: /).waitFor();
    await dialog.getByRole("button", { name: "End it" }).click();
    await dialog.getByText("Ended; nothing was written.").waitFor();
    assert.deepEqual(sessions(folder), []);
  },
  "a capture shows how far it is, and lands on the overview of its session": async (page, origin, loop, folder) => {
    // What was ended here still ends there: a program takes one profile at a time.
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Duration").fill("4s");
    await dialog.getByLabel("Retries").fill("9");
    await dialog.getByRole("button", { name: "Capture", exact: true }).click();
    await dialog.getByText(/^Recording: \d\.\d s of 4\.0 s$/).waitFor({ timeout: 120_000 });
    const bar = dialog.getByRole("progressbar");
    await page.waitForFunction((one) => one.value > 0.2, await bar.elementHandle());
    await dialog.waitFor({ state: "hidden", timeout: 120_000 });
    const run = await waitForParam(page, "run", /./);
    assert.deepEqual(sessions(folder), [run]);
    await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor();
    await settled(page);
    assert.ok((await page.getByRole("combobox", { name: "Run" }).inputValue()) === run);
    const { body } = await ask(origin, "report/steps", { run });
    const steps = body.tables[0].rows.length;
    // Four seconds of steps of a few milliseconds.
    assert.ok(steps > 20, `${steps} annotated steps`);
    await page.locator('.card[data-id="step_time_mean_ps"]').waitFor();
  },
  "a capture goes on without its dialog, and its run is offered": async (page, origin, loop, folder) => {
    const before = await param(page, "run");
    const dialog = await openDialog(page);
    // What was asked for last is there again.
    assert.equal(await dialog.getByLabel("Servers").inputValue(), loop.server);
    // Longer than a page takes to load on a machine that is busy: it is taken up while it records.
    await dialog.getByLabel("Duration").fill("12s");
    await dialog.getByText("Tracers and options").click();
    await dialog.getByLabel("Python tracer").selectOption("1");
    await dialog.getByLabel("Other options").fill("host_traceme_filter_mask=7");
    await dialog.getByRole("button", { name: "Capture", exact: true }).click();
    await dialog.getByText(/^Recording: /).waitFor();
    await dialog.getByRole("button", { name: "Close" }).click();
    // A page that is loaded anew takes it up.
    await visit(page, origin, { run: before });
    await openDialog(page);
    await page.getByText(/^Record(ing|ed)|^Receiving|^Writing/).waitFor();
    await page.keyboard.press("Escape");
    const fresh = page.getByRole("button", { name: /^New run: / });
    await fresh.waitFor({ timeout: 120_000 });
    assert.equal(await param(page, "run"), before);
    await fresh.click();
    const run = await waitForParam(page, "run", /./);
    assert.ok(run !== before && sessions(folder).includes(run), run);
    assert.equal(sessions(folder).length, 2);
  },
  "the dialog is within a phone's width": async (page, origin) => {
    await page.setViewportSize(PHONE);
    const dialog = await openDialog(page);
    await dialog.getByText("Tracers and options").scrollIntoViewIfNeeded();
    const wide = await dialog.evaluate((one) => one.scrollWidth > one.clientWidth);
    assert.ok(!wide && (await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)));
    await page.keyboard.press("Escape");
    await page.setViewportSize(DESK);
  },
  "XProf's route captures too": async (page, origin, loop, folder) => {
    const before = sessions(folder).length;
    const route = `${origin}/data/plugin/profile/capture_profile`;
    const done = await fetch(`${route}?service_addr=${loop.server}&is_tpu_name=false&duration=300&num_retry=3&worker_list=`);
    assert.deepEqual([done.status, await done.text()], [200, '{"result": "Capture profile successfully. Please refresh."}']);
    assert.equal(sessions(folder).length, before + 1);
    const config = await (await fetch(`${origin}/data/plugin/profile/config`)).json();
    assert.equal(config.hideCaptureProfileButton, false);
  },
};

/** All steps, each through `check(name, work)`; false where they are left out. */
export async function captureChecks(browser, check) {
  const jax = jaxPython();
  if (jax.why !== undefined) {
    process.stdout.write(`skip captures from the page: ${jax.why}\n`);
    return false;
  }
  const folder = mkdtempSync(join(tmpdir(), "haloscope-capture-"));
  const loop = await startLoop(jax.program);
  const server = await start("serve", folder);
  const { page, problems, close } = await openPage(browser);
  try {
    for (const [name, step] of Object.entries(captureSteps)) {
      await check(name, async () => {
        await step(page, server.origin, loop, folder);
        assert.deepEqual(problems.splice(0), []);
      });
    }
  } finally {
    await close();
    server.stop();
    loop.stop();
    rmSync(folder, { recursive: true, force: true });
  }
  return true;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const browser = await launch();
  let failed = 0;
  const check = async (name, work) => {
    try {
      await work();
      process.stdout.write(`ok   ${name}\n`);
    } catch (error) {
      failed += 1;
      process.stdout.write(`FAIL ${name}: ${error.message}\n`);
    }
  };
  try {
    await captureChecks(browser, check);
  } finally {
    await browser.close();
  }
  process.exitCode = failed > 0 ? 1 : 0;
}
