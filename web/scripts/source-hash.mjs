// Writes crates/serve/dist/SOURCE_HASH: SHA-256 over path, NUL, content, NUL of every source file of
// the page, in the order of their paths. A Rust test recomputes it, so a stale build is noticed
// without Node.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const web = dirname(dirname(fileURLToPath(import.meta.url)));
const roots = ["src", "public", "index.html", "package.json", "package-lock.json", "vite.config.ts", "tsconfig.json"];

function filesUnder(path) {
  if (!statSync(join(web, path)).isDirectory()) return [path];
  return readdirSync(join(web, path)).flatMap((name) => filesUnder(`${path}/${name}`));
}

const hash = createHash("sha256");
// Bytewise order, as Rust's `sort` gives it; a locale's order would differ from machine to machine.
const paths = roots.flatMap(filesUnder).sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
for (const path of paths) {
  hash
    .update(path)
    .update("\0")
    .update(readFileSync(join(web, path)))
    .update("\0");
}
const digest = hash.digest("hex");
writeFileSync(join(web, "../crates/serve/dist/SOURCE_HASH"), `${digest}\n`);
process.stdout.write(`${digest}  ${paths.length} files\n`);
