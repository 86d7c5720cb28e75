import { expect, it } from "vitest";

import { analysis } from "../api/made.testdata";
import { taken } from "./ask";

const info = analysis("memory-attribute", {
  params: [
    { id: "module", doc: "", kind: "text", choices: [], default: "" },
    { id: "space", doc: "", kind: "count", choices: [], default: "" },
  ],
});

it("asks only for what the analysis takes", () => {
  expect(taken(info, { module: "jit_f", space: "1", radius: "2" })).toEqual([
    ["module", "jit_f"],
    ["space", "1"],
  ]);
  expect(taken(info, { module: "", space: "vmem" })).toEqual([]);
  expect(taken(undefined, { module: "a" })).toEqual([]);
});
