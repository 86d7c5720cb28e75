// What the timeline adds up, held against the command line and against the bytes of its tiles.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";

import { settled, waitForParam } from "./browser.mjs";
import { binary } from "./server.mjs";

const run = promisify(execFile);

/** Reads a binary tile again, by rules of its own: the number of events that it stands for. */
export async function eventsOfTile(origin, id, tracks, startPs, endPs) {
  const query = new URLSearchParams({ run: id, start: startPs, end: endPs, px: 1000, tracks: tracks.join(","), colour: "category" });
  const response = await fetch(`${origin}/api/timeline/tile?${query}`);
  assert.equal(response.status, 200);
  const buffer = Buffer.from(await response.arrayBuffer());
  const slices = buffer.readUInt32LE(8);
  let events = 0;
  for (let i = 0; i < slices; i += 1) events += buffer.readUInt32LE(32 + slices * 24 + i * 4);
  return events;
}

/** The rows of `haloscope ops` over a window. */
async function opsOfWindow(path, window) {
  const { stdout } = await run(binary(), ["ops", path, "--window", window, "--format", "json"], { maxBuffer: 1 << 28 });
  const report = JSON.parse(stdout);
  const table = report.tables.find((one) => one.id === "ops") ?? report.tables[0];
  const at = (id) => {
    const index = table.columns.findIndex((column) => column.id === id);
    assert.ok(index >= 0, `ops has no column ${id}`);
    return index;
  };
  return table.rows.map((row) => ({ op: row[at("name")], self: row[at("self_ps")] }));
}

/** The table of the open area, as its CSV has it. */
async function areaRows(page) {
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.locator(".tl-area-tabs").getByRole("button", { name: "CSV", exact: true }).click(),
  ]);
  const lines = (await readFile(await download.path(), "utf8")).trimEnd().split("\r\n");
  return lines.slice(1).map((line) => {
    const cells = [...line.matchAll(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g)].map((match) => match[1].replace(/^"|"$/g, "").replaceAll('""', '"'));
    return { op: cells[0], self: cells[1] === "" ? null : Number(cells[1]) };
  });
}

/** The sums of the selected area are those of the command line over the same window, op by op, to the picosecond. */
export async function areaEqualsOps(page, path) {
  await page.locator(".tl-area [data-sum=self]").waitFor();
  await settled(page);
  const [window] = (await waitForParam(page, "area", /^\d+\.\.\d+/)).split("@");
  const expected = await opsOfWindow(path, window);
  const shown = Number(await page.locator(".tl-area [data-sum=self]").getAttribute("data-exact"));
  const total = expected.reduce((sum, row) => sum + row.self, 0);
  assert.ok(total > 0, `no op runs in ${window}`);
  assert.equal(shown, total, `self time of ${window}`);
  const sums = (rows) => {
    const byOp = new Map();
    for (const row of rows) if (row.self !== null) byOp.set(row.op, (byOp.get(row.op) ?? 0) + row.self);
    return [...byOp].filter(([, self]) => self > 0).sort(([a], [b]) => (a < b ? -1 : 1));
  };
  assert.deepEqual(sums(await areaRows(page)), sums(expected), `ops of ${window}`);
  return expected.length;
}
