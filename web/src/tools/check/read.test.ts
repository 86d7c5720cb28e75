import { expect, it } from "vitest";

import { made, tableWith } from "../compare/made.testdata";
import { OUTCOMES, counts, outcomeOf, rowTone, wordsOf } from "./read";

it("has the outcomes of the command line", () => {
  expect(outcomeOf({ ...made({}), gate: "passed", passed: true })).toBe("passed");
  expect(outcomeOf({ ...made({}), gate: "not_comparable", passed: null })).toBe("not comparable");
  // An older server says only whether it holds.
  expect(outcomeOf({ ...made({}), passed: false })).toBe("failed");
  expect(outcomeOf(made({}))).toBe("nothing asked");
  expect(OUTCOMES["not comparable"].exit).toBe("exit code 5");
});

it("never takes what is unknown for passed", () => {
  expect(["pass", "fail", "unknown", "a word of another version"].map(rowTone)).toEqual(["good", "bad", "unknown", "plain"]);
});

it("counts verdicts, the worst first", () => {
  const table = tableWith(
    "budgets",
    ["metric", "verdict"],
    [
      ["a", "pass"],
      ["b", "unknown"],
      ["c", "pass"],
      ["d", "fail"],
    ],
  );
  expect(counts([table, null])).toBe("1 fail, 1 unknown, 2 pass");
});

it("says why the gate is shut", () => {
  const shut = (verdict: string) => wordsOf({ ...made({ verdict }), gate: "failed", passed: false });
  expect(shut("regressed")).toBe("The run is worse than its baseline.");
  expect(shut("unknown")).toMatch(/unknown does not pass/);
  expect(shut("another word")).toBe(OUTCOMES.failed.words);
  expect(wordsOf({ ...made({ verdict: "passed" }), gate: "passed", passed: true })).toBe(OUTCOMES.passed.words);
});
