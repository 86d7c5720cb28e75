import { expect, it } from "vitest";

import type { Column } from "../api/types";
import { moduleChoices } from "./modules";

const column = (id: string): Column => ({ id, label: id, unit: "", kind: "text", doc: "" });

it("names programs as the server takes them, each once", () => {
  const table = {
    id: "modules",
    title: "",
    columns: ["module", "program_id", "stage"].map(column),
    rows: [
      ["jit_f", "7", null],
      ["jit_f", "7", null],
      ["jit_f", null, "after_optimizations"],
      ["jit_g", null, null],
    ],
  };
  expect(moduleChoices(table).map((choice) => choice.word)).toEqual(["jit_f(7)", "jit_f@after_optimizations", "jit_g"]);
  expect(moduleChoices(null)).toEqual([]);
});

it("says what each needs, where that is known", () => {
  const table = {
    id: "programs",
    title: "",
    columns: ["program", "peak_bytes"].map(column),
    rows: [
      ["jit_f(7)", 1024],
      ["jit_g(8)", null],
    ],
  };
  expect(moduleChoices(table).map((choice) => choice.label)).toEqual(["jit_f(7), 1.00 KiB", "jit_g(8)"]);
});
