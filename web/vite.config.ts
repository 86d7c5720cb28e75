import { defineConfig } from "vitest/config";

/** Who answers while somebody works on the page: `haloscope serve fixtures/runs`. */
const ORIGIN = process.env["HALOSCOPE_ORIGIN"] ?? "http://127.0.0.1:8791";

// The Rust server embeds these files by name, so names carry no hashes. The page's answers are
// revalidated by ETag instead.
export default defineConfig({
  // Relative, so that the page also works below a path of some proxy.
  base: "./",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  // The layout of graphs runs in a worker and brings a library along; only the page that draws graphs loads it.
  worker: { format: "es", rollupOptions: { output: { entryFileNames: "[name].js" } } },
  server: { proxy: { "/api": ORIGIN, "/docs": ORIGIN } },
  build: {
    outDir: "../crates/serve/dist",
    emptyOutDir: true,
    target: "es2022",
    // What a page's file imports is asked for beside it, by links: nothing is written into the document.
    modulePreload: { polyfill: false },
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    rollupOptions: {
      output: {
        entryFileNames: "app.js",
        chunkFileNames: (chunk) => (chunk.isDynamicEntry ? "pages/[name].js" : "[name].js"),
        // What several pages use is one file, not twenty small ones.
        codeSplitting: {
          groups: [
            { name: "shared", test: /(\/src\/(base|api|state|widgets(?!\/timeline)|tools\/[^/]+$)|node_modules)/, minShareCount: 2 },
          ],
        },
        assetFileNames: (asset) => (asset.names.some((name) => name.endsWith(".css")) ? "app.css" : "[name][extname]"),
      },
    },
  },
  // A test reads the theme's colours.
  test: { include: ["src/**/*.test.ts"], environment: "node", pool: "threads", css: { include: [/theme\.css/] } },
});
