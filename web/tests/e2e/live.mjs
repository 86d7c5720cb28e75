// A log folder that grows while its page is open: nothing is loaded again, and nobody is moved away from what they look at.
import assert from "node:assert/strict";
import { closeSync, cpSync, mkdirSync, openSync, readFileSync, readdirSync, writeSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";

import { PHONE, overflow, settled, visit, waitForParam } from "./browser.mjs";
import { ask } from "./server.mjs";

const picker = (page) => page.getByRole("combobox", { name: "Run", exact: true });

/** A note in the page's memory, which a reload would lose. */
const mark = (page) => page.evaluate(() => (window.stillHere = true));
const isMarked = (page) => page.evaluate(() => window.stillHere === true);

/** The first profile of a run, unpacked. */
function profileOf(run) {
  const folder = join(run, "plugins/profile", readdirSync(join(run, "plugins/profile"))[0]);
  return gunzipSync(readFileSync(join(folder, readdirSync(folder).filter((name) => name.endsWith(".gz"))[0])));
}

export const liveSteps = {
  "the first session of an empty folder is shown as soon as it is there": async (page, origin, folder, run) => {
    await visit(page, origin, {});
    await page.getByText("No profiles found").waitFor();
    await mark(page);
    cpSync(run, join(folder, "first"), { recursive: true });
    await page.getByRole("heading", { level: 1 }).first().waitFor();
    await settled(page);
    assert.match(await picker(page).inputValue(), /^first\//);
    assert.ok(await isMarked(page), "the page was loaded again");
  },
  "a session that is being written is listed as such, answered when it is complete, and offered": async (page, origin, folder, run) => {
    const bytes = profileOf(run);
    const into = join(folder, "second/plugins/profile/2026_02_02_00_00_00");
    mkdirSync(into, { recursive: true });
    const before = await picker(page).inputValue();
    const file = openSync(join(into, "w.xplane.pb"), "w");
    writeSync(file, bytes.subarray(0, bytes.length / 2));
    await picker(page).locator("option", { hasText: "2026_02_02_00_00_00 (being written)" }).waitFor({ state: "attached" });
    const { body } = await ask(origin, "runs");
    const late = body.runs.find((one) => one.id.includes("2026_02_02"));
    assert.equal(late.writing, true);
    const other = await page.context().newPage();
    await other.goto(`${origin}/?run=${encodeURIComponent(late.id)}`);
    await other.getByText("This run is still being written").waitFor();
    writeSync(file, bytes.subarray(bytes.length / 2));
    closeSync(file);
    await other.getByText("This run is still being written").waitFor({ state: "detached" });
    await settled(other);
    assert.ok((await other.locator("main").textContent()).includes("Step time"));
    await other.close();
    const offer = page.getByRole("button", { name: /^New run: .*2026_02_02_00_00_00/ });
    await offer.waitFor();
    assert.equal(await picker(page).inputValue(), before, "nobody is moved");
    assert.ok(await isMarked(page), "the page was loaded again");
    await page.setViewportSize(PHONE);
    await settled(page);
    assert.equal(await overflow(page), 0);
    await offer.click();
    assert.equal(await waitForParam(page, "run", /2026_02_02/), late.id);
    await offer.waitFor({ state: "detached" });
    await settled(page);
    assert.ok(await isMarked(page), "the page was loaded again");
  },
};
