// A browser that keeps an account of what went wrong, and the few things that every check does with a page.
import assert from "node:assert/strict";

import { chromium } from "playwright-core";

export const DESK = { width: 1440, height: 900 };
export const PHONE = { width: 390, height: 844 };

const ARGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"];
const QUIET = ["--disable-component-update", "--disable-sync"];

/** Nothing is downloaded: the browser is the machine's own. */
export function launch() {
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: [...ARGS, ...QUIET] });
}

/** A page whose console errors and requests beyond this machine are kept in `problems`. The browser's own line about a
 * refusal (a 4xx) is no error of the page: what the page makes of it is checked by what it shows. */
export async function openPage(browser, options = {}) {
  const context = await browser.newContext({ viewport: DESK, colorScheme: "light", ...options });
  const page = await context.newPage();
  // Every wait is for a condition; only a machine that is busy with other things comes near this.
  page.setDefaultTimeout(60_000);
  const problems = [];
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error" && !/status of 4\d\d/.test(message.text())) problems.push(message.text());
  });
  page.on("request", (request) => {
    const { protocol, hostname } = new URL(request.url());
    if (protocol === "http:" && hostname !== "127.0.0.1") problems.push(`asked ${request.url()}`);
    else if (!["http:", "blob:", "data:"].includes(protocol)) problems.push(`asked ${request.url()}`);
  });
  return { page, problems, close: () => context.close() };
}

/** Waits until every part of the page has its answer and what follows is drawn. */
export async function settled(page) {
  await page.evaluate(() => (window.calmFrames = 0));
  await page.waitForFunction(() => {
    const ready = document.querySelector("h1, .notice") !== null && document.querySelector(".loading, [aria-busy=true]") === null;
    const drawing = document.querySelector(".tl-busy")?.textContent ?? "";
    window.calmFrames = ready && drawing === "" ? (window.calmFrames ?? 0) + 1 : 0;
    return window.calmFrames > 4;
  });
}

/** Loads an address; `query` in the order given. */
export async function visit(page, origin, query) {
  const go = () => page.goto(`${origin}/?${new URLSearchParams(query)}`, { waitUntil: "load" });
  // Escape takes a step back in the history, which the browser does when it comes to it: it stops a load that began meanwhile.
  await go().catch((error) => (error.message.includes("ERR_ABORTED") ? go() : Promise.reject(error)));
  await settled(page);
}

/** What the address says; asked of the page itself, because `page.url()` may lag behind it. */
export function param(page, name) {
  return page.evaluate((key) => new URL(location.href).searchParams.get(key), name);
}

/** What the address says once it says it. */
export async function waitForParam(page, name, matches) {
  await page.waitForFunction(
    ([key, source]) => new RegExp(source).test(new URL(location.href).searchParams.get(key) ?? ""),
    [name, matches.source],
  );
  return param(page, name);
}

/** Waits until the timeline stands still and the address says where. The page's own timer for that is shorter than this one, and
 * in the same queue: however slow the machine, it is through first. */
export async function rested(page) {
  await page.waitForFunction(async () => {
    const shown = () => document.querySelector(".tl-span")?.textContent;
    const before = shown();
    await new Promise((done) => setTimeout(done, 400));
    return shown() === before;
  });
}

/** Pixels by which the document is wider than the window. */
export function overflow(page) {
  return page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
}

const SIZES = { ps: 1, ns: 1e3, µs: 1e6, ms: 1e9, s: 1e12, B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 };
const PREFIXES = { "": 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18 };

/** Reads a number as the page writes it, by rules of its own: `147.7 ms` is 147.7e9. */
export function parseNumber(text) {
  const plain = text.replaceAll("\u202f", "");
  const match = /^([<>]?)(-?[\d.]+(?:e-?\d+)?)\s*(.*)$/.exec(plain);
  if (match === null) return null;
  const number = Number(match[2]);
  const unit = match[3];
  if (unit === "%") return { number: number / 100, bound: match[1] };
  if (unit in SIZES) return { number: number * SIZES[unit], bound: match[1] };
  const rate = /^([kMGTPE]?)(FLOP|FLOP\/s|B\/s)$/.exec(unit);
  return { number: number * (rate === null ? 1 : PREFIXES[rate[1]]), bound: match[1] };
}

/** The text that the page shows for a value of a report says that value, to the digits that it shows. */
export function assertShows(text, value, where) {
  if (value.value === null || value.value === "unknown") return assert.fail(`${where}: shown as ${text}, but unknown`);
  if (typeof value.value === "boolean") return assert.equal(text, value.value ? "yes" : "no", where);
  if (typeof value.value !== "number") return assert.equal(text, String(value.value), where);
  const read = parseNumber(text);
  assert.notEqual(read, null, `${where}: ${text} is no number`);
  if (read.bound === "<") return assert.ok(value.value > 0 && value.value < read.number, `${where}: ${text} for ${value.value}`);
  if (read.bound === ">") return assert.ok(value.value > read.number && value.value < 1, `${where}: ${text} for ${value.value}`);
  const slack = Math.max(Math.abs(value.value) * 6e-4, value.kind === "share" ? 6e-4 : 0);
  return assert.ok(Math.abs(read.number - value.value) <= slack, `${where}: ${text} for ${value.value}`);
}

/** `check` holds as soon as the page has drawn what the last key or click changed; within five seconds. */
export async function soon(check, why = check.toString()) {
  for (let tries = 0; tries < 50; tries += 1) {
    if (await check()) return;
    await new Promise((done) => setTimeout(done, 100));
  }
  assert.fail(why);
}

/** That many there are, as soon as the page has drawn them. */
export async function counts(locator, wanted, why = locator.toString()) {
  let found = await locator.count();
  for (let tries = 0; found !== wanted && tries < 50; tries += 1) {
    await new Promise((done) => setTimeout(done, 100));
    found = await locator.count();
  }
  assert.equal(found, wanted, why);
}
