// The real program, and a log folder to serve: the fixtures' runs and one that cannot be read.
import { spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { get } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

export const web = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const runs = resolve(web, "../fixtures/runs");

/** Profiles that may stand beside a checkout; the walk takes them in where they are. */
export const traces = process.env.HALOSCOPE_TRACES ?? resolve(web, "../../shared/traces");

/** The program under test. */
export function binary() {
  const path = resolve(web, process.env.HALOSCOPE_BIN ?? "../target/release/haloscope");
  if (existsSync(path)) return path;
  throw new Error(`there is no program at ${path}: run \`cargo build --release -p haloscope\`, or name one in HALOSCOPE_BIN`);
}

/** A folder with the fixtures' runs, `broken` and what `haloscope` makes of names with spaces. */
export function logFolder() {
  const folder = mkdtempSync(join(tmpdir(), "haloscope-e2e-"));
  const names = readdirSync(runs)
    .filter((name) => statSync(join(runs, name)).isDirectory())
    .sort();
  for (const name of names) cpSync(join(runs, name), join(folder, name), { recursive: true });
  const broken = join(folder, "broken/plugins/profile/cut");
  mkdirSync(broken, { recursive: true });
  writeFileSync(join(broken, "host.xplane.pb"), "no profile");
  return { folder, names, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** Starts the program with these arguments and waits until it says where it serves. */
export function start(...args) {
  const root = process.env.HALOSCOPE_WEB_ROOT;
  const child = spawn(binary(), [...args, "--port", "0", "--no-token", ...(root === undefined ? [] : ["--web-root", resolve(web, root)])]);
  let said = "";
  return new Promise((done, fail) => {
    const hear = (chunk) => {
      said += chunk;
      const url = /serving at (http:\/\/[\d.]+:\d+)\//.exec(said);
      if (url !== null) done({ origin: url[1], stop: () => child.kill("SIGTERM") });
    };
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    child.on("error", fail);
    child.on("exit", (code) => fail(new Error(`haloscope ${args.join(" ")} ended with ${code}: ${said}`)));
    setTimeout(() => fail(new Error(`haloscope ${args.join(" ")} does not serve: ${said}`)), 60_000).unref();
  });
}

/** Bytes of an answer's body as they cross the wire, packed where the server packs. */
export function wireBytes(url) {
  return new Promise((done, fail) => {
    get(url, { headers: { "Accept-Encoding": "gzip" } }, (response) => {
      let bytes = 0;
      response.on("data", (chunk) => (bytes += chunk.length));
      response.on("end", () => done({ bytes, packed: response.headers["content-encoding"] === "gzip" }));
    }).on("error", fail);
  });
}

/** An answer of the API and its status. */
export async function ask(origin, path, query = {}) {
  const response = await fetch(`${origin}/api/${path}?${new URLSearchParams(query)}`);
  return { status: response.status, body: await response.json() };
}
