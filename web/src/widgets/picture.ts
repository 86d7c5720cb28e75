/** What is drawn on the page as an SVG that stands by itself: boxes, texts, drawings and canvases of an element, with the colours that
 * they have on the screen. No image of the page is taken, so texts stay texts. */

const SPACE = "http://www.w3.org/2000/svg";
/** Around the element. */
const MARGIN = 12;
/** Properties that a drawing's look depends on. */
const LOOKS = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "stroke-linecap",
  "stroke-linejoin",
  "stroke-opacity",
  "opacity",
  "font-family",
  "font-size",
  "font-style",
  "font-weight",
  "text-anchor",
  "dominant-baseline",
  "visibility",
] as const;
/** What is left out of the picture: tips, controls and words for screen readers. */
const LEFT_OUT = ".tip, .visually-hidden, input, select, textarea, [popover]";

interface Drawing {
  readonly root: SVGSVGElement;
  readonly left: number;
  readonly top: number;
}

function node(name: string, attributes: Readonly<Record<string, string | number>>): SVGElement {
  const made = document.createElementNS(SPACE, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, typeof value === "number" ? value.toFixed(2) : value);
  return made;
}

function isSeen(colour: string): boolean {
  return colour !== "" && colour !== "transparent" && !/^rgba\(.*, 0\)$/.test(colour);
}

/** The box of an element, where it has a ground or a border. */
function drawBox({ root, left, top }: Drawing, element: HTMLElement): void {
  const style = getComputedStyle(element);
  const at = element.getBoundingClientRect();
  if (at.width === 0 || at.height === 0) return;
  const bordered = parseFloat(style.borderTopWidth) > 0 && parseFloat(style.borderBottomWidth) > 0 && isSeen(style.borderTopColor);
  if (!isSeen(style.backgroundColor) && !bordered) return;
  root.append(
    node("rect", {
      x: at.left - left,
      y: at.top - top,
      width: at.width,
      height: at.height,
      rx: parseFloat(style.borderTopLeftRadius) || 0,
      fill: isSeen(style.backgroundColor) ? style.backgroundColor : "none",
      opacity: style.opacity,
      ...(bordered ? { stroke: style.borderTopColor, "stroke-width": style.borderTopWidth } : {}),
    }),
  );
}

/** A text, a line of it at a time. */
function drawText({ root, left, top }: Drawing, text: Text): void {
  const parent = text.parentElement;
  if (parent === null || text.data.trim() === "") return;
  const style = getComputedStyle(parent);
  const range = document.createRange();
  let line = "";
  let place: DOMRect | null = null;
  const flush = (): void => {
    if (place === null || line.trim() === "") return;
    const size = parseFloat(style.fontSize);
    const made = node("text", {
      x: place.left - left,
      y: place.top - top + place.height / 2 + size * 0.35,
      fill: style.color,
      "font-family": style.fontFamily,
      "font-size": style.fontSize,
      "font-weight": style.fontWeight,
      "font-style": style.fontStyle,
    });
    made.textContent = line.trim();
    root.append(made);
  };
  for (let i = 0; i < text.length; i += 1) {
    range.setStart(text, i);
    range.setEnd(text, i + 1);
    const at = range.getBoundingClientRect();
    if (at.width === 0 && at.height === 0) continue;
    if (place !== null && Math.abs(at.top - place.top) > at.height / 2) {
      flush();
      line = "";
      place = null;
    }
    place ??= at;
    line += text.data[i] ?? "";
  }
  flush();
}

/** A drawing of the page, its looks written out. */
function drawSvg({ root, left, top }: Drawing, svg: SVGSVGElement): void {
  const at = svg.getBoundingClientRect();
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const from = [svg, ...svg.querySelectorAll("*")];
  const to = [copy, ...copy.querySelectorAll("*")];
  from.forEach((one, i) => {
    const style = getComputedStyle(one);
    const made = to[i];
    for (const name of LOOKS) made?.setAttribute(name, style.getPropertyValue(name));
    for (const name of ["class", "style", "tabindex", "id", "role"]) made?.removeAttribute(name);
  });
  copy.setAttribute("x", (at.left - left).toFixed(2));
  copy.setAttribute("y", (at.top - top).toFixed(2));
  copy.setAttribute("width", at.width.toFixed(2));
  copy.setAttribute("height", at.height.toFixed(2));
  copy.setAttribute("overflow", "visible");
  root.append(copy);
}

function draw(on: Drawing, element: Element): void {
  if (element.matches(LEFT_OUT)) return;
  if (element instanceof SVGSVGElement) drawSvg(on, element);
  else if (element instanceof HTMLCanvasElement) {
    const at = element.getBoundingClientRect();
    on.root.append(
      node("image", { href: element.toDataURL(), x: at.left - on.left, y: at.top - on.top, width: at.width, height: at.height }),
    );
  } else if (element instanceof HTMLElement) {
    drawBox(on, element);
    for (const child of element.childNodes) {
      if (child instanceof Text) drawText(on, child);
      else if (child instanceof Element) draw(on, child);
    }
  }
}

/** The text of an SVG file with what the element shows, under a title. */
export function pictureOf(element: HTMLElement, title: string): string {
  const at = element.getBoundingClientRect();
  const head = 26;
  const width = at.width + 2 * MARGIN;
  const height = at.height + 2 * MARGIN + head;
  const root = node("svg", { xmlns: SPACE, width, height, viewBox: `0 0 ${width} ${height}` }) as SVGSVGElement;
  const style = getComputedStyle(element);
  const ground = getComputedStyle(document.documentElement).getPropertyValue("--surface").trim();
  root.append(node("rect", { x: 0, y: 0, width, height, fill: ground === "" ? "#ffffff" : ground }));
  const words = node("text", {
    x: MARGIN,
    y: MARGIN + 11,
    fill: style.color,
    "font-family": style.fontFamily,
    "font-size": "13px",
    "font-weight": "650",
  });
  words.textContent = title;
  root.append(words);
  draw({ root, left: at.left - MARGIN, top: at.top - MARGIN - head }, element);
  return new XMLSerializer().serializeToString(root);
}

/** The SVG as a PNG, at two pixels for each of the page's. */
export async function rasterised(svg: string): Promise<Blob> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = image.naturalWidth * 2;
  canvas.height = image.naturalHeight * 2;
  const context = canvas.getContext("2d");
  if (context === null) throw new Error("The browser does not provide a canvas to draw on");
  context.scale(2, 2);
  context.drawImage(image, 0, 0);
  const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done, "image/png"));
  if (blob === null) throw new Error("The picture is too large for the browser: download the SVG");
  return blob;
}
