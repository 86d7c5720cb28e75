// A small stand-in for `haloscope serve`: the same routes over made-up runs, for working on the page
// without a profile. `npm run dev -- --mode mock` mounts it in Vite; run as a program it serves the
// built page (or that in HALOSCOPE_WEB_ROOT) under the server's content policy: node mock/server.mjs [PORT]
import { createReadStream, existsSync } from "node:fs";
import { createServer } from "node:http";
import { dirname, extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";

import { analyses, report, runs } from "./reports.mjs";
import { timelineAnswer } from "./timeline-answers.mjs";
import { eventDetails, timelineWindow, tracks } from "./timeline.mjs";

const TYPES = { ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" };
const POLICY =
  "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'";

function fail(status, error, hint) {
  return { status, body: { error, hint, kind: status === 404 ? "unknown" : "unreadable" } };
}

/** Answers one API request: a status and a body. */
export function answer(url) {
  const { pathname, searchParams: query } = new URL(url, "http://localhost");
  const run = query.get("run") ?? "";
  const known = runs.runs.some((one) => one.id === run);
  if (pathname === "/api/runs") return { status: 200, body: runs };
  if (pathname === "/api/analyses") return { status: 200, body: analyses };
  if (!known) return fail(404, `There is no run named ${JSON.stringify(run)}`, "Choose another run in the list at the top.");
  if (run === "broken")
    return fail(
      422,
      "train.xplane.pb: byte 1,204: a length of 8,812 runs past the end of the file",
      "The file is cut short. Record it again, or read what came before with `haloscope inspect`.",
    );
  if (pathname.startsWith("/api/report/")) {
    if (run === "cpu" && pathname.endsWith("/memory-profile"))
      return { status: 404, body: { error: "the profile holds no events of allocators", hint: "", kind: "nothing" } };
    const body = report(decodeURIComponent(pathname.slice("/api/report/".length)), run, query);
    return body === null ? fail(404, "There is no such analysis", "`haloscope --help` lists them.") : { status: 200, body };
  }
  if (pathname === "/api/timeline/tracks") return { status: 200, body: tracks(run) };
  if (pathname === "/api/timeline/window") {
    const ids = (query.get("tracks") ?? "").split(",").filter(Boolean).map(Number);
    return { status: 200, body: timelineWindow(run, Number(query.get("start")), Number(query.get("end")), Number(query.get("px")), ids) };
  }
  const more = timelineAnswer(pathname, run, query);
  if (more !== null) return { status: 200, body: more };
  if (pathname === "/api/timeline/event")
    return { status: 200, body: eventDetails(run, Number(query.get("track")), Number(query.get("event"))) };
  return fail(404, `There is nothing at ${pathname}`, "");
}

function handleApi(request, response) {
  const { status, body } = answer(request.url);
  const bytes = Buffer.isBuffer(body);
  response.writeHead(status, { "Content-Type": bytes ? "application/octet-stream" : "application/json" });
  response.end(bytes ? body : JSON.stringify(body));
}

/** The Vite plugin. */
export function mockApi() {
  return {
    name: "mock-api",
    configureServer(server) {
      server.middlewares.use((request, response, next) => (request.url.startsWith("/api/") ? handleApi(request, response) : next()));
    },
  };
}

/** Serves the built page and the mock API; resolves to the server once it listens. */
export function serveDist(port) {
  const dist = process.env.HALOSCOPE_WEB_ROOT ?? join(dirname(fileURLToPath(import.meta.url)), "../../crates/serve/dist");
  const server = createServer((request, response) => {
    if (request.url.startsWith("/api/")) return handleApi(request, response);
    const path = normalize(new URL(request.url, "http://localhost").pathname);
    const file = join(dist, path === "/" ? "index.html" : path);
    response.setHeader("Content-Security-Policy", POLICY);
    if (!file.startsWith(dist) || !existsSync(file)) return response.writeHead(404).end();
    response.setHeader("Content-Type", TYPES[extname(file)] ?? "application/octet-stream");
    return createReadStream(file).pipe(response);
  });
  return new Promise((resolve) => server.listen(port, "127.0.0.1", () => resolve(server)));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const port = Number(process.argv[2] ?? 7171);
  await serveDist(port);
  process.stderr.write(`http://127.0.0.1:${port}\n`);
}
