// Writes crates/serve/dist/report.html from what vite.config.ts built: everything in one file, with a policy that allows
// this script and this style and nothing from anywhere. `haloscope report` puts its data in place of the comment.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const web = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const built = (name) => readFileSync(join(web, "node_modules/.report", name), "utf8");
// In a script these would end it, or begin a comment that hides its end; in strings and patterns the escape means the same.
const script = built("report.js")
  .replace(/<\/script/gi, "<\\/script")
  .replaceAll("<!--", "\\x3c!--");
const style = built("report.css");
if (/<\/style/i.test(style) || /url\(/.test(style)) throw new Error("the style ends itself or asks for a file");
const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
const policy = `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; img-src data:; base-uri 'none'; form-action 'none'`;
const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>Haloscope report</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<div id="app"></div>
<noscript>This report draws itself with JavaScript, which this file brings along.</noscript>
<!--haloscope-data-->
<script>${script}</script>
</body>
</html>
`;
writeFileSync(join(web, "../crates/serve/dist/report.html"), page);
process.stdout.write(`report.html  ${page.length} bytes\n`);
