// What a reader with other eyes or without a mouse would stumble over.
import { createRequire } from "node:module";

import { openPage, visit } from "./browser.mjs";
import { PAGES, PARTS } from "./walk.mjs";

const { source } = createRequire(import.meta.url)("axe-core");

export async function violations(page, where) {
  // By evaluation, because the content policy allows no script but the page's own.
  await page.evaluate(source);
  const result = await page.evaluate(async () => {
    const { violations, passes } = await window.axe.run(document, { resultTypes: ["violations"] });
    return { violations, passes: passes.length };
  });
  if (result.passes < 10) throw new Error(`${where}: axe looked at nothing`);
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

/** Serious and critical findings on every page of a run, and on what opens over them, in one theme. */
export async function audit(browser, origin, run, colorScheme) {
  const { page, close } = await openPage(browser, { colorScheme });
  const found = [];
  const look = async (where) => found.push(...(await violations(page, `${where}, ${colorScheme}`)));
  for (const id of PAGES) {
    await visit(page, origin, { run, page: id });
    await look(id);
    if (id === "ops") {
      await page.locator("tbody tr:not(.spacer)").first().click();
      await look("ops with details");
    }
  }
  for (const part of PARTS) {
    await visit(page, origin, { run, ...part });
    await look(Object.values(part).join(" "));
  }
  await page.keyboard.press("?");
  await page.getByRole("dialog").waitFor();
  await look("help");
  await visit(page, origin, { run, steps: "777" });
  await look("nothing in scope");
  await close();
  return found;
}
