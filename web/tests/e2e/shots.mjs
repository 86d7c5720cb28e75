// Pictures of a few pages against those that are committed in `shots/` and in the docs. `npm run e2e -- --update` takes them anew. What differs is
// written to ../target/e2e-shots, with the difference beside it.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import pixelmatch from "pixelmatch";
import { PNG } from "pngjs";

import { DESK, PHONE, openPage, visit } from "./browser.mjs";
import { web } from "./server.mjs";

const kept = join(web, "tests/e2e/shots");
const differing = join(web, "../target/e2e-shots");
const update = process.argv.includes("--update");

/** Pages that change seldom. */
const PAGES = ["overview", "ops", "roofline"];

/** At half size: smaller files, and the edges of letters weigh less. */
const VIEWS = [
  { name: "desk-light", viewport: DESK, colorScheme: "light", deviceScaleFactor: 0.5 },
  { name: "desk-dark", viewport: DESK, colorScheme: "dark", deviceScaleFactor: 0.5 },
  { name: "phone-dark", viewport: PHONE, colorScheme: "dark", deviceScaleFactor: 0.5 },
];

/** Pictures in the docs: pages of the demo, as a newcomer sees them. */
const DOCS = [{ path: "docs/images/diagnose.png", page: "diagnose", viewport: { width: 1240, height: 780 } }];

/** Another version of the browser draws letters differently: so much may differ, a part missing or moved is more. */
const MOST = 0.02;
/** How far a pixel may be off before it counts, 0 to 1. */
const THRESHOLD = 0.25;

/** The content without the bars around it: the menu grows with the analyses, the header has a date. */
async function picture(page) {
  const box = await page.locator(".content").boundingBox();
  const { width, height } = page.viewportSize();
  const clip = { x: box.x, y: box.y, width: Math.min(box.width, width - box.x), height: Math.min(box.height, height - box.y) };
  return page.screenshot({ clip, animations: "disabled", caret: "hide" });
}

/** The share of pixels that differ; writes both pictures where it is too large. */
function compare(name, path, taken) {
  if (!existsSync(path)) return `${name}: no picture to compare with: run \`npm run e2e -- --update\``;
  const [was, is] = [PNG.sync.read(readFileSync(path)), PNG.sync.read(taken)];
  mkdirSync(differing, { recursive: true });
  const save = () => writeFileSync(join(differing, `${name}.png`), taken);
  if (was.width !== is.width || was.height !== is.height) {
    save();
    return `${name}: ${is.width}x${is.height} instead of ${was.width}x${was.height}: see target/e2e-shots`;
  }
  const difference = new PNG({ width: is.width, height: is.height });
  const pixels = pixelmatch(was.data, is.data, difference.data, is.width, is.height, { threshold: THRESHOLD });
  const share = pixels / (is.width * is.height);
  if (share <= MOST) return null;
  save();
  writeFileSync(join(differing, `${name}.diff.png`), PNG.sync.write(difference));
  return `${name}: ${(share * 100).toFixed(1)}% of the pixels differ: see target/e2e-shots, or \`npm run e2e -- --update\` where it is meant`;
}

/** What differs on a run's pages and on those of the demo, in words; nothing after an update. */
export async function compareShots(browser, { origin, run }, demo) {
  rmSync(differing, { recursive: true, force: true });
  mkdirSync(kept, { recursive: true });
  const problems = [];
  const look = (name, path, taken) => {
    if (update) writeFileSync(path, taken);
    else problems.push(compare(name, path, taken));
  };
  for (const { name: view, ...options } of VIEWS) {
    const { page, close } = await openPage(browser, options);
    for (const id of PAGES) {
      await visit(page, origin, { run, page: id });
      const name = `${id}-${view}`;
      look(name, join(kept, `${name}.png`), await picture(page));
    }
    await close();
  }
  for (const { path, page: id, viewport } of DOCS) {
    const { page, close } = await openPage(browser, { viewport, colorScheme: "light" });
    await visit(page, demo, { page: id });
    look(`${id}-docs`, join(web, "..", path), await picture(page));
    await close();
  }
  return problems.filter((problem) => problem !== null);
}
