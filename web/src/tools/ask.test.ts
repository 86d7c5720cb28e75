import { expect, it } from "vitest";

import type { AnalysisInfo } from "../api/types";
import { taken } from "./ask";

const info: AnalysisInfo = {
  id: "memory-attribute",
  question: "",
  params: [
    { id: "module", doc: "", kind: "text" },
    { id: "space", doc: "", kind: "count" },
  ],
};

it("asks only for what the analysis takes", () => {
  expect(taken(info, { module: "jit_f", space: "1", radius: "2" })).toEqual([
    ["module", "jit_f"],
    ["space", "1"],
  ]);
  expect(taken(info, { module: "", space: "vmem" })).toEqual([]);
  expect(taken(undefined, { module: "a" })).toEqual([]);
});
