// XProf as PyPI has it, its own server and ours, each with the same sessions in a log folder of its own: XProf writes beside them.
import { execFileSync, spawn } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, unlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "../../..");
const VERSION = "2.24.2";

/** A Python that has xprof: the one that HALOSCOPE_XPROF_PYTHON names, else one of our own, set up at the first use. */
export function python() {
  if (process.env.HALOSCOPE_XPROF_PYTHON !== undefined) return process.env.HALOSCOPE_XPROF_PYTHON;
  const folder = join(process.env.CARGO_TARGET_DIR ?? join(root, "target"), "peers/xprof");
  const ready = join(folder, "ready");
  if (!existsSync(ready)) {
    const quiet = { stdio: ["ignore", "ignore", "inherit"] };
    execFileSync("python3", ["-m", "venv", folder], quiet);
    execFileSync(join(folder, "bin/python"), ["-m", "pip", "install", "--quiet", `xprof==${VERSION}`], quiet);
    writeFileSync(ready, VERSION);
  }
  return join(folder, "bin/python");
}

/** The folder of the page's files in a Python's xprof. */
export function pageFolder(program) {
  const code = "import importlib.util as u, os; print(os.path.join(os.path.dirname(u.find_spec('xprof').origin), 'static'))";
  return execFileSync(program, ["-c", code], { encoding: "utf8" }).trim();
}

/** The fixtures' runs in a folder of their own, unpacked: XProf reads no packed ones. */
export function logFolder() {
  const folder = mkdtempSync(join(tmpdir(), "haloscope-xprof-page-"));
  cpSync(join(root, "fixtures/runs"), folder, { recursive: true });
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    const path = join(folder, name);
    if (!name.endsWith(".gz") || !statSync(path).isFile()) continue;
    writeFileSync(path.slice(0, -3), gunzipSync(readFileSync(path)));
    unlinkSync(path);
  }
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** Our program serving XProf's page. */
export function ours(logs, page) {
  const program = resolve(root, process.env.HALOSCOPE_BIN ?? "target/release/haloscope");
  return answering(spawn(program, ["serve", logs, "--ui", page, "--port", "0", "--no-token"]), /serving at (http:\/\/[\d.]+:\d+)\//);
}

/** XProf's own server. */
export async function xprofs(program, logs) {
  const [port, grpc] = [await freePort(), await freePort()];
  const code = `import sys; from xprof import server; sys.exit(server.main(sys.argv[1:]))`;
  const args = ["-c", code, "--logdir", logs, "--port", `${port}`, "--grpc_port", `${grpc}`];
  return answering(spawn(program, args, { env: { ...process.env, PYTHONUNBUFFERED: "1" } }), /XProf at (http:\/\/localhost:\d+)\//);
}

function freePort() {
  return new Promise((done, fail) => {
    const server = createServer();
    server.on("error", fail);
    server.listen(0, () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });
}

/** Waits until a server has said where it is, and answers there. */
function answering(child, where) {
  let said = "";
  return new Promise((done, fail) => {
    const hear = (chunk) => {
      if (said.length > 100_000) return;
      said += chunk;
      const found = where.exec(said);
      if (found === null) return;
      const origin = found[1].replace("localhost", "127.0.0.1");
      said = " ".repeat(100_001);
      settled(origin).then(() => done({ origin, stop: () => child.kill("SIGKILL") }), fail);
    };
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    child.on("error", fail);
    child.on("exit", (code) => fail(new Error(`the server ended with ${code}: ${said.trim()}`)));
    setTimeout(() => fail(new Error(`the server does not start: ${said.trim()}`)), 60_000).unref();
  });
}

async function settled(origin) {
  for (let tries = 0; tries < 100; tries += 1) {
    const up = await fetch(`${origin}/version`).then(
      (response) => response.ok,
      () => false,
    );
    if (up) return;
    await new Promise((done) => setTimeout(done, 200));
  }
  throw new Error(`${origin} does not answer`);
}
