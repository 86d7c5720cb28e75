// speedscope itself reads our files: `node speedscope.mjs FOLDER-OF-ITS-PAGE PROFILES=FILE...`. Each file is handed to its page
// as its command line does it; the page must then show as many profiles as the file has.
import { readFileSync, writeFileSync, mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const { chromium } = createRequire(new URL("../../web/package.json", import.meta.url))("playwright-core");
const [folder, ...files] = process.argv.slice(2);
const scratch = mkdtempSync(join(tmpdir(), "speedscope-"));
const browser = await chromium.launch({ executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
let failed = 0;
try {
  for (const named of files) {
    const at = named.indexOf("=");
    const [count, file] = [Number(named.slice(0, at)), named.slice(at + 1)];
    const script = join(scratch, "profile.js");
    const data = readFileSync(file).toString("base64");
    writeFileSync(script, `speedscope.loadFileFromBase64(${JSON.stringify(basename(file))}, ${JSON.stringify(data)})`);
    const page = await browser.newPage();
    const said = [];
    page.on("pageerror", (error) => said.push(error.message));
    page.on("dialog", (dialog) => (said.push(dialog.message()), dialog.dismiss()));
    page.on("console", (message) => message.type() === "error" && said.push(message.text()));
    await page.goto(`${pathToFileURL(resolve(folder, "index.html"))}#localProfilePath=${script}`);
    const marker = count > 1 ? new RegExp(`\\(\\d+/${count}\\)`) : /Left Heavy/;
    try {
      await page.waitForFunction((source) => new RegExp(source).test(document.body.innerText), marker.source, { timeout: 20000 });
    } catch {
      said.push(`the page does not show ${marker.source}: ${(await page.evaluate(() => document.body.innerText)).slice(0, 200)}`);
    }
    await page.close();
    failed += said.length > 0 ? 1 : 0;
    process.stdout.write(said.length > 0 ? `FAIL ${basename(file)}: ${said.join("; ")}\n` : `ok   speedscope reads ${basename(file)}, ${count} profiles\n`);
  }
} finally {
  await browser.close();
  rmSync(scratch, { recursive: true });
}
process.exit(failed > 0 ? 1 : 0);
