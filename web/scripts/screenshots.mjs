// Takes every page at a desk's and a phone's size, light and dark, and fails on any console error or
// request that leaves the origin. Against the mock by default, or against a running server:
//   node scripts/screenshots.mjs OUT_DIR [ORIGIN] [RUN]
// CHROMIUM names the browser's program.
import { mkdirSync } from "node:fs";
import { join } from "node:path";

import { chromium } from "playwright-core";

import { serveDist } from "../mock/server.mjs";

const out = process.argv[2] ?? "test-results";
const origin = process.argv[3] ?? "http://127.0.0.1:7172";
const run = process.argv[4] ?? "";
const only = process.env.PAGES?.split(",") ?? ["overview", "timeline", "steps", "ops", "roofline", "inspect"];
const sizes = [
  { name: "desk", width: 1440, height: 900 },
  { name: "phone", width: 390, height: 844 },
];

mkdirSync(out, { recursive: true });
const server = process.argv[3] === undefined ? await serveDist(7172) : null;
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu"],
});
const problems = [];

for (const size of sizes) {
  for (const scheme of ["light", "dark"]) {
    const context = await browser.newContext({ viewport: size, colorScheme: scheme });
    const page = await context.newPage();
    page.on("console", (message) => message.type() === "error" && problems.push(`${page.url()}: ${message.text()}`));
    page.on("pageerror", (error) => problems.push(`${page.url()}: ${error.message}`));
    page.on("request", (request) => {
      const url = request.url();
      if (!url.startsWith(origin) && !url.startsWith("blob:") && !url.startsWith("data:")) problems.push(`left the origin: ${url}`);
    });
    for (const name of only) {
      await page.goto(`${origin}/?run=${encodeURIComponent(run)}&page=${name}`);
      await page.waitForLoadState("networkidle");
      await page.waitForTimeout(250);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (wide > 0) problems.push(`${name} at ${size.name} is ${wide}px too wide`);
      await page.screenshot({ path: join(out, `${name}-${size.name}-${scheme}.png`), fullPage: process.env.FULL === "1" });
    }
    await context.close();
  }
}
await browser.close();
server?.close();
for (const problem of problems) process.stderr.write(`${problem}\n`);
process.exitCode = problems.length > 0 ? 1 : 0;
