// What XProf's page shows and complains of when a server of either sort is behind it.
import { chromium } from "playwright-core";

const ARGS = [
  "--no-sandbox",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
// The new trace viewer draws with WebGPU: in software, where there is no graphics card.
const WEBGPU = [
  "--enable-unsafe-webgpu",
  "--use-webgpu-adapter=swiftshader",
  "--enable-features=Vulkan",
  "--use-vulkan=swiftshader",
  "--use-angle=swiftshader",
];
const DEADLINE_MS = 90_000;

export function launch() {
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: [...ARGS, ...WEBGPU] });
}

/** Opens a tool's page as a bookmark would, waits until nothing changes, and says what is there. */
export async function look(browser, origin, { tool, query, viewer, until }, shot) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  // No other host is asked, so that both servers meet the same: charts and fonts of Google's are missing.
  await context.route(
    (url) => url.protocol.startsWith("http") && url.origin !== origin,
    (route) => route.abort(),
  );
  if (viewer === 2) {
    await context.addInitScript(() => {
      localStorage.setItem("use_trace_viewer_v2", "true");
    });
  }
  const page = await context.newPage();
  const errors = [];
  const asked = new Set();
  let open = 0;
  page.on("pageerror", (error) => errors.push(plain(error.message, origin)));
  page.on("console", (message) => {
    if (message.type() !== "error") return;
    const { url } = message.location();
    const at = /^Failed to load/.test(message.text()) && url !== "" ? ` ${new URL(url).pathname}` : "";
    errors.push(plain(message.text(), origin) + at);
  });
  page.on("request", (request) => {
    open += 1;
    const url = new URL(request.url());
    if (url.origin === origin && url.pathname.endsWith("/data")) asked.add(url.searchParams.get("tag"));
  });
  for (const end of ["requestfinished", "requestfailed"]) page.on(end, () => (open -= 1));

  await page.goto(`${origin}/data/plugin/profile/${tool}?${new URLSearchParams({ tag: tool, ...query })}`, { waitUntil: "load" });
  let text = "";
  let calm = 0;
  const begun = Date.now();
  while (Date.now() - begun < DEADLINE_MS && calm < 6) {
    await page.waitForTimeout(500);
    const now = await words(page);
    calm = now === text && open <= 0 && until.test(now) ? calm + 1 : 0;
    text = now;
  }
  await page.screenshot({ path: shot });
  const drawn = viewer === 2 ? await colours(page) : null;
  await context.close();
  return { text, errors: [...new Set(errors)].sort(), asked: [...asked].sort(), drawn };
}

/** All that can be read on a page and in its frames, without what only asks to capture. */
async function words(page) {
  const all = await Promise.all(
    page.frames().map((frame) =>
      frame
        .evaluate(() => {
          // The old trace viewer keeps its tracks below a shadow root.
          const below = (node) =>
            node.shadowRoot ? [node.shadowRoot, ...[...node.shadowRoot.children].flatMap(below)] : [...node.children].flatMap(below);
          const shadows = document.body === null ? [] : below(document.body);
          return [
            document.body?.innerText ?? "",
            ...shadows.map((shadow) => [...shadow.children].map((child) => child.innerText ?? "").join("\n")),
          ].join("\n");
        })
        .catch(() => ""),
    ),
  );
  const lines = all.join("\n").split("\n");
  return lines
    .map((line) => line.trim())
    .filter((line) => line !== "" && !/^capture (profile|kernel)$/i.test(line))
    .join("\n");
}

/** How many colours the canvas of the new trace viewer has on it: one or two where nothing is drawn. */
async function colours(page) {
  const canvas = page.locator("canvas").first();
  if ((await canvas.count()) === 0) return 0;
  const shot = await canvas.screenshot({ timeout: 30_000 });
  return page.evaluate(async (data) => {
    const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${data}`)).blob());
    const canvas = new OffscreenCanvas(image.width, image.height);
    const context = canvas.getContext("2d");
    context.drawImage(image, 0, 0);
    const { data: bytes } = context.getImageData(0, 0, image.width, image.height);
    return new Set(new Uint32Array(bytes.buffer)).size;
  }, shot.toString("base64"));
}

/** A complaint without what differs from run to run: ports, places in the script, times, the words of a status. */
function plain(text, origin) {
  return text
    .split("\n")[0]
    .replaceAll(origin, "")
    .replace(/status of (\d+).*$/, "status of $1")
    .replace(/[IWEF]0000 [\d:.]+ +\d+/, "log");
}
