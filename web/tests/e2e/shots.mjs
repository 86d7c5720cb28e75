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

/** These are in full size for readers, and are compared at a quarter of it, for the reason that the others are small. */
const DOCS_BY = 4;

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

/** A picture at one so-manieth of its size, each pixel the mean of a square: a line that stands one pixel lower is hardly another one. */
function smaller(png, by) {
  if (by === 1) return png;
  const made = new PNG({ width: Math.floor(png.width / by), height: Math.floor(png.height / by) });
  for (let y = 0; y < made.height; y++)
    for (let x = 0; x < made.width; x++)
      for (let channel = 0; channel < 4; channel++) {
        let sum = 0;
        for (let row = y * by; row < (y + 1) * by; row++)
          for (let column = x * by; column < (x + 1) * by; column++) sum += png.data[(row * png.width + column) * 4 + channel];
        made.data[(y * made.width + x) * 4 + channel] = Math.round(sum / (by * by));
      }
  return made;
}

/** The share of pixels that differ, at one `by`-th of the size; writes both pictures where it is too large. */
function compare(name, path, taken, by) {
  if (!existsSync(path)) return `${name}: no picture to compare with: run \`npm run e2e -- --update\``;
  const [whole, taking] = [PNG.sync.read(readFileSync(path)), PNG.sync.read(taken)];
  mkdirSync(differing, { recursive: true });
  const save = () => writeFileSync(join(differing, `${name}.png`), taken);
  if (whole.width !== taking.width || whole.height !== taking.height) {
    save();
    return `${name}: ${taking.width}x${taking.height} instead of ${whole.width}x${whole.height}: see target/e2e-shots`;
  }
  const [was, is] = [smaller(whole, by), smaller(taking, by)];
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
  const look = (name, path, taken, by = 1) => {
    if (update) writeFileSync(path, taken);
    else problems.push(compare(name, path, taken, by));
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
    look(`${id}-docs`, join(web, "..", path), await picture(page), DOCS_BY);
    await close();
  }
  return problems.filter((problem) => problem !== null);
}
