// What a reader with other eyes or without a mouse would stumble over.
import { createRequire } from "node:module";

import { openPage, visit } from "./browser.mjs";
import { PARTS, menu } from "./walk.mjs";

const { source } = createRequire(import.meta.url)("axe-core");

/** What a theme can change; all else is the same in both. */
const BY_THEME = { type: "rule", values: ["color-contrast"] };

export async function violations(page, where, only = null) {
  // By evaluation, because the content policy allows no script but the page's own.
  await page.evaluate(source);
  const result = await page.evaluate(async (runOnly) => {
    const options = { resultTypes: ["violations"], ...(runOnly === null ? {} : { runOnly }) };
    const { violations, passes, incomplete } = await window.axe.run(document, options);
    return { violations, looked: passes.length + violations.length + incomplete.length };
  }, only);
  if (result.looked < (only === null ? 10 : 1)) throw new Error(`${where}: axe looked at nothing`);
  return result.violations
    .filter((one) => one.impact === "serious" || one.impact === "critical")
    .map(
      (one) =>
        `${where}: ${one.id} (${one.impact}): ${one.nodes
          .slice(0, 3)
          .map((node) => node.html.slice(0, 120))
          .join(" | ")}`,
    );
}

/**
 * Serious and critical findings on what opens over the pages of a run, in the two themes by turns; where `isWhole` in both, and on every
 * page too, which are else listened to as they are walked over.
 */
export async function audit(browser, origin, run, isWhole) {
  const { page, close } = await openPage(browser);
  const found = [];
  let turn = 0;
  const look = async (where) => {
    const themes = isWhole ? ["light", "dark"] : [["light", "dark"][turn++ % 2]];
    for (const colorScheme of themes) {
      await page.emulateMedia({ colorScheme });
      await rest(page);
      found.push(...(await violations(page, `${where}, ${colorScheme}`, colorScheme === themes[0] ? null : BY_THEME)));
    }
  };
  for (const id of isWhole ? await menu(page, origin, run) : ["ops"]) {
    await visit(page, origin, { run, page: id });
    if (isWhole) await look(id);
    if (id === "ops") {
      await page.locator("tbody tr:not(.spacer)").first().click();
      await look("ops with details");
    }
  }
  for (const part of PARTS.filter((one) => one.tab !== undefined)) {
    await visit(page, origin, { run, ...part });
    await look(Object.values(part).join(" "));
  }
  for (const list of ["steps", "devices"]) {
    await visit(page, origin, { run, page: "ops", steps: "1-2" });
    await page.getByRole("button", { name: new RegExp(`^${list}`) }).click();
    await page.locator(".picker").getByRole("option").first().waitFor();
    await look(`the list of ${list}`);
  }
  await page.keyboard.press("Escape");
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keys and words" }).waitFor();
  await look("help");
  await visit(page, origin, { run });
  await page.getByRole("button", { name: "Capture a profile" }).click();
  const dialog = page.getByRole("dialog", { name: "Capture a profile" });
  await dialog.getByText("The session is saved below").waitFor();
  await dialog.getByText("Tracers and options").click();
  await look("the capture dialog");
  await dialog.getByLabel("Servers").fill("nowhere");
  await page.keyboard.press("Enter");
  await dialog.getByRole("alert").waitFor();
  await look("the capture dialog with a wrong field");
  await visit(page, origin, { run, steps: "777" });
  await look("nothing in scope");
  await close();
  return found;
}

/** A change of theme fades in. */
function rest(page) {
  return page.evaluate(async () => {
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    await Promise.all(
      document
        .getAnimations()
        .filter((one) => one.effect?.getComputedTiming().iterations !== Infinity)
        .map((one) => one.finished.catch(() => null)),
    );
  });
}
