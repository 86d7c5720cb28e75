// XProf's own page on our server: it shows what it shows on XProf's server, and complains of nothing that it does not complain
// of there. `node tests/xprof-page/main.mjs [FOLDER FOR SCREENSHOTS]`; HALOSCOPE_BIN, CHROMIUM and HALOSCOPE_XPROF_PYTHON name programs.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";

import { launch, look } from "./look.mjs";
import { logFolder, ours, pageFolder, python, xprofs } from "./servers.mjs";

const TIME = "2026_01_01_00_00_00";
const tpu = { run: `tpu-train/${TIME}`, host: "tpu-w-0" };
const cpu = { run: `cpu-train/${TIME}`, host: "host0" };
const program = "jit_train_step(14606544531147133434)";

/** What is opened, and words that are there when it has rendered. */
const VIEWS = [
  { name: "overview", tool: "overview_page", query: { ...tpu, host: "ALL_HOSTS" }, until: /Average Step Time[\s\S]*\d ms/ },
  { name: "overview-cpu", tool: "overview_page", query: cpu, until: /Performance Summary/ },
  { name: "trace-viewer-1", tool: "trace_viewer@", query: { ...tpu, hosts: tpu.host }, viewer: 1, until: /XLA Modules/ },
  { name: "trace-viewer-2", tool: "trace_viewer@", query: { ...tpu, hosts: tpu.host }, viewer: 2, until: /Flow Events/i },
  { name: "op-profile", tool: "op_profile", query: tpu, until: /HLO OP NAME[\s\S]*jit_train_step/ },
  { name: "memory-viewer", tool: "memory_viewer", query: cpu, until: /Peak memory allocation: [\d.]+ MiB/ },
  { name: "graph-viewer", tool: "graph_viewer", query: { ...tpu, moduleName: program }, until: /quick start[\s\S]*fusion/ },
  {
    name: "graph-viewer-drawn",
    tool: "graph_viewer",
    query: { ...tpu, module_name: program, node_name: "fusion.432", graph_width: "1" },
    until: /Search Graph/i,
    // XProf's page needs a library from the network to lay out the graph; ours comes laid out.
    drawn: /Neighborhood of 1 nodes around fusion\.432/,
  },
];

const failures = [];

async function check(name, work) {
  const from = Date.now();
  try {
    await work();
    process.stdout.write(`ok   ${name} (${((Date.now() - from) / 1000).toFixed(1)} s)\n`);
  } catch (error) {
    failures.push(`${name}: ${error.message}`);
    process.stdout.write(`FAIL ${name}\n`);
  }
}

const fetched = async (origin, route, query) =>
  (await fetch(`${origin}/data/plugin/profile/${route}?${new URLSearchParams(query)}`)).text();

/** The lists that the page fills its menus from. */
async function compareLists(theirs, mine) {
  const same = async (route, query = {}) => {
    const [want, got] = await Promise.all([theirs, mine].map((origin) => fetched(origin, route, query)));
    assert.equal(got, want, `${route} ${JSON.stringify(query)}`);
    return want;
  };
  for (const run of JSON.parse(await same("runs"))) {
    for (const tool of JSON.parse(await same("run_tools", { run }))) await same("hosts", { run, tag: tool });
    await same("module_list", { run });
  }
  await same("version");
}

async function compareView(browser, theirs, mine, view, shots) {
  const both = async () => [
    await look(browser, theirs, view, join(shots, `${view.name}-xprof.png`)),
    await look(browser, mine, view, join(shots, `${view.name}-haloscope.png`)),
  ];
  let [want, got] = await both();
  // A busy machine can pause long enough between two parts of a page that it looks finished; a second look tells.
  if (!view.drawn && got.text !== want.text) [want, got] = await both();
  const shown = `\n${got.errors.join("\n")}\n${got.text.slice(0, 2000)}`;
  assert.match(want.text, view.until, `XProf's own server does not render this:\n${want.errors.join("\n")}\n${want.text.slice(0, 2000)}`);
  assert.match(got.text, view.until, `it does not render: ${shown}`);
  const news = got.errors.filter((error) => !want.errors.includes(error));
  assert.deepEqual(news, [], `errors in the console that XProf's server does not give:\n${news.join("\n")}`);
  assert.deepEqual(got.asked, want.asked, "it asks for other tools");
  if (view.drawn) assert.match(got.text, view.drawn, "the graph is not drawn");
  else assert.equal(got.text, want.text, "it shows other words");
  if (view.viewer === 2) {
    assert.ok(want.drawn > 20 && got.drawn > 20, `the canvas shows ${got.drawn} colours, with XProf's server ${want.drawn}`);
  }
}

async function main(shots) {
  mkdirSync(shots, { recursive: true });
  const [program, logs] = [python(), [logFolder(), logFolder()]];
  const servers = [];
  const browser = await launch();
  try {
    servers.push(await xprofs(program, logs[0].folder));
    servers.push(await ours(logs[1].folder, pageFolder(program)));
    const [theirs, mine] = servers.map((server) => server.origin);
    await check("sessions, tools, hosts and modules are listed alike", () => compareLists(theirs, mine));
    for (const view of VIEWS) await check(view.name, () => compareView(browser, theirs, mine, view, shots));
  } finally {
    await browser.close();
    for (const server of servers) server.stop();
    for (const log of logs) log.remove();
  }
}

await main(resolve(process.argv[2] ?? "test-results/xprof-page")).catch((error) => failures.push(error.stack));
for (const failure of failures) process.stderr.write(`${failure}\n`);
process.stdout.write(failures.length === 0 ? "all well\n" : `${failures.length} failed\n`);
process.exitCode = failures.length > 0 ? 1 : 0;
