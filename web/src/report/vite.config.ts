import { defineConfig } from "vite";

// The page of `haloscope report`: one script and one stylesheet, which page.mjs puts into one file.
export default defineConfig({
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  publicDir: false,
  build: {
    outDir: "node_modules/.report",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: false,
    cssCodeSplit: false,
    rollupOptions: {
      input: "src/report/main.tsx",
      output: {
        format: "iife",
        entryFileNames: "report.js",
        assetFileNames: (asset) => (asset.names.some((name) => name.endsWith(".css")) ? "report.css" : "[name][extname]"),
      },
    },
  },
});
