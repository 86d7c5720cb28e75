// What a person does with the memory and HLO pages, on a run whose profile holds its programs with their buffers.
import assert from "node:assert/strict";

import { DESK, param, settled, visit, waitForParam } from "./browser.mjs";
import { ask } from "./server.mjs";

const column = (table, ...ids) => table.columns.findIndex((one) => ids.includes(one.id));
const tableOf = (body, id) => body.tables.find((table) => table.id === id);
const columnOf = (table, ...ids) => table.rows.map((row) => row[column(table, ...ids)]);

/** What the graph is drawn around, and what is picked in it. */
const picked = (page) => page.locator(".graph-node.selected .graph-label").first().innerHTML();

export const programSteps = {
  "the menu groups the analyses of memory and of HLO": async (page, origin, run) => {
    await visit(page, origin, { run });
    const { analyses } = (await ask(origin, "analyses")).body;
    for (const family of ["memory", "hlo"]) {
      const members = analyses.filter((one) => one.id.startsWith(`${family}-`));
      assert.ok(members.length >= 4, `${members.length} of ${family}`);
      for (const { id } of members) assert.equal(await page.locator(`.nav a.under[data-nav="${id}"]`).count(), 1, id);
      assert.equal(await page.locator(`.nav a[data-nav="${family}"]:not(.under)`).count(), 1);
    }
  },
  "the program picker lists every program with its peak, the largest first": async (page, origin, run) => {
    await visit(page, origin, { run, page: "memory" });
    const { body } = await ask(origin, "report/memory-peak", { run });
    const programs = [...new Set(columnOf(tableOf(body, "programs"), "program"))];
    const picker = page.getByRole("combobox", { name: "program", exact: true });
    assert.deepEqual(await picker.locator("option").evaluateAll((all) => all.map((one) => one.value)), programs);
    assert.equal(await picker.inputValue(), body.values.program.value);
    const other = programs.find((name) => name !== body.values.program.value);
    if (other === undefined) return;
    await picker.selectOption(other);
    await waitForParam(page, "module", /./);
    await settled(page);
    const second = await ask(origin, "report/memory-peak", { run, module: other });
    if (second.status === 200) assert.equal(await page.locator('.card[data-id="program"] .card-value').innerText(), other);
  },
  "tiles sum to the peak, and one keeps its rows of the table": async (page, origin, run) => {
    await visit(page, origin, { run, page: "memory", by: "opcode" });
    const { body } = await ask(origin, "report/memory-peak", { run });
    const buffers = tableOf(body, "buffers");
    const opcodes = columnOf(buffers, "opcode");
    const tile = page.locator("button.tile").first();
    const name = await tile.locator("span").first().textContent();
    const rows = opcodes.filter((one) => one === name).length;
    assert.ok(rows > 0, name);
    await tile.focus();
    await page.keyboard.press("Enter");
    await waitForParam(page, "part", /./);
    assert.equal(await tile.getAttribute("aria-pressed"), "true");
    const panel = page
      .locator(".panel", { has: page.locator("table.data") })
      .filter({ hasText: "buffers" })
      .first();
    assert.match(await panel.locator(".panel-note").innerText(), new RegExp(`^${rows} (of ${buffers.rows.length} )?buffers`));
    assert.equal(Number(await panel.locator("table.data").getAttribute("aria-rowcount")) - 1, rows);
    await page.keyboard.press("Enter");
    await waitForParam(page, "part", /^$/);
  },
  "the curve's cursor moves by the keyboard and says what is there": async (page, origin, run) => {
    await visit(page, origin, { run, page: "memory" });
    const slider = page.getByRole("slider");
    const { body } = await ask(origin, "report/memory-peak", { run });
    if (!body.series.some((one) => one.id === "live")) return;
    await slider.focus();
    await page.keyboard.press("Home");
    await page.waitForFunction(() => document.querySelector("[role=slider]").getAttribute("aria-valuenow") === "0");
    await page.keyboard.press("p");
    await page.waitForFunction(() => document.querySelector("[role=slider]").getAttribute("aria-valuenow") !== "0");
    const said = await slider.getAttribute("aria-valuetext");
    assert.ok(said.includes(body.values.peak_instruction.value), said);
  },
  "identities carry a tick each": async (page, origin, run) => {
    await visit(page, origin, { run, page: "memory", tab: "attribute" });
    const { body } = await ask(origin, "report/memory-attribute", { run });
    const held = columnOf(tableOf(body, "identities"), "holds");
    assert.equal(await page.locator(".identities .mark-good").count(), held.filter(Boolean).length);
    assert.equal(await page.locator(".identities .mark-bad").count(), held.filter((one) => !one).length);
  },
  "a buffer leads to its instruction in the graph": async (page, origin, run) => {
    await visit(page, origin, { run, page: "memory" });
    const table = page.locator("table.data[role=grid]").first();
    await table.focus();
    await page.keyboard.press("Enter");
    const buffer = await waitForParam(page, "buffer", /./);
    await page.getByRole("button", { name: "In the graph" }).click();
    await waitForParam(page, "page", /^hlo$/);
    await settled(page);
    const name = buffer.replace(/\s*\{.*$/, "");
    assert.equal(await param(page, "node"), name);
    assert.equal(await picked(page), name);
  },
  "the layout comes with the graph's page and not before": async (page, origin, run) => {
    const asked = [];
    const listen = (request) => asked.push(new URL(request.url()).pathname);
    page.context().on("request", listen);
    await visit(page, origin, { run, page: "ops" });
    assert.ok(!asked.includes("/layout.worker.js"), "the worker is loaded without a graph");
    await visit(page, origin, { run, page: "hlo" });
    assert.ok((await page.locator(".graph-node").count()) > 0, "no graph is drawn");
    assert.ok(asked.includes("/layout.worker.js"), asked.join(" "));
    page.context().off("request", listen);
  },
  "a click on a node marks its line, a click on a line its node": async (page, origin, run) => {
    await visit(page, origin, { run, page: "hlo", radius: "2", layers: "0" });
    const other = page.locator(".graph-node:not(.selected)").first();
    const name = await other.getAttribute("data-id");
    await page.getByRole("button", { name: "Fit" }).click();
    await other.locator("> rect").last().click({ force: true });
    await waitForParam(page, "sel", /./);
    await settled(page);
    assert.equal(await param(page, "sel"), name);
    assert.match(await page.locator(".text-line.here").innerText(), new RegExp(`%?${name.replaceAll(".", "\\.")} = `));
    const line = page.locator(".text-line", { hasText: / = / }).first();
    const defined = /%?([\w.-]+) = /.exec(await line.innerText())[1];
    await line.click();
    await settled(page);
    assert.ok([await param(page, "sel"), await param(page, "node"), await picked(page)].includes(defined), defined);
  },
  "arrows walk the graph, Enter draws around, Back returns": async (page, origin, run) => {
    await visit(page, origin, { run, page: "hlo", layers: "0" });
    const before = await picked(page);
    await page.locator(".graph").focus();
    await page.keyboard.press("ArrowUp");
    const sel = await waitForParam(page, "sel", /./);
    assert.notEqual(sel, before);
    await page.keyboard.press("Enter");
    await waitForParam(page, "node", /./);
    await settled(page);
    assert.equal(await param(page, "node"), sel);
    await page.goBack();
    await waitForParam(page, "node", /^$/);
    await settled(page);
  },
  "a shortest path is drawn between two instructions": async (page, origin, run) => {
    const graph = (await ask(origin, "report/hlo-graph", { run, radius: "3" })).body;
    const nodes = tableOf(graph, "nodes");
    const far = nodes.rows.find((row) => row[column(nodes, "distance")] === 3)?.[column(nodes, "name")];
    if (far === undefined) return;
    await visit(page, origin, { run, page: "hlo", radius: "3", layers: "0", sel: far });
    await page.getByRole("button", { name: /^Path from/ }).click();
    await waitForParam(page, "to", /./);
    await settled(page);
    const { body } = await ask(origin, "report/hlo-graph", { run, node: graph.values.node.value, to: far });
    assert.equal(await page.locator(".graph-node.on-path").count(), tableOf(body, "nodes").rows.length);
    await page.getByRole("button", { name: "Clear the path" }).click();
    await waitForParam(page, "to", /^$/);
  },
  "the wheel zooms the graph and a drag moves it": async (page, origin, run) => {
    await visit(page, origin, { run, page: "hlo" });
    const pose = () => page.locator(".graph svg > g").getAttribute("transform");
    const box = await page.locator(".graph").boundingBox();
    const before = await pose();
    await page.mouse.move(box.x + box.width / 2, box.y + 40);
    await page.mouse.wheel(0, 240);
    await page.waitForFunction((old) => document.querySelector(".graph svg > g").getAttribute("transform") !== old, before);
    const zoomed = await pose();
    await page.mouse.down();
    await page.mouse.move(box.x + box.width / 2 + 60, box.y + 80, { steps: 4 });
    await page.mouse.up();
    assert.notEqual(await pose(), zoomed);
  },
  "search finds instructions and leads to one": async (page, origin, run) => {
    await visit(page, origin, { run, page: "hlo" });
    const { body } = await ask(origin, "report/hlo-search", { run, query: "fusion" });
    const found = body.tables[0].rows.length;
    await page.getByRole("searchbox").first().fill("fusion");
    await page.keyboard.press("Enter");
    await waitForParam(page, "q", /^fusion$/);
    await settled(page);
    const results = page.locator(".search-panel");
    if (found === 0) return;
    await results.locator("tbody tr:not(.spacer)").first().click();
    const node = await waitForParam(page, "node", /./);
    assert.ok(columnOf(body.tables[0], "name").includes(node), node);
  },
  "what is unfolded can be folded again": async (page, origin, run) => {
    await visit(page, origin, { run, page: "hlo", radius: "4" });
    await page.setViewportSize(DESK);
    const folded = page.locator(".graph-node", { has: page.locator(".graph-badge") });
    if ((await folded.count()) === 0) return;
    const before = await page.locator(".graph-node").count();
    const id = await folded.first().getAttribute("data-id");
    await visit(page, origin, { run, page: "hlo", radius: "4", sel: id });
    await page.locator(".graph").focus();
    await page.keyboard.press("Space");
    await waitForParam(page, "open", /./);
    await settled(page);
    assert.ok((await page.locator(".graph-node").count()) > before, id);
    await page
      .getByRole("button", { name: /^Fold / })
      .first()
      .click();
    await waitForParam(page, "open", /^$/);
    await settled(page);
    assert.equal(await page.locator(".graph-node").count(), before);
  },
  "a text can be copied, and is the server's": async (page, origin, run) => {
    await visit(page, origin, { run, page: "hlo-text" });
    const { body } = await ask(origin, "report/hlo-text", { run });
    const first = body.texts[0].text.split("\n")[0];
    assert.equal(await page.locator(".text-line").first().textContent(), first);
    assert.equal(await page.getByRole("button", { name: "Copy" }).count(), body.texts.length);
  },
};
