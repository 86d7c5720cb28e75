import { describe, expect, it } from "vitest";

import { finding, link } from "../../api/made.testdata";
import { made, tableWith } from "./made.testdata";
import { breaking, isNotComparable, meansOf, otherFindings, probability, shownWord, stepFinding, verdictOf } from "./verdict";

const SLOWER = {
  verdict: "slower",
  step_delta_ps: 3.36e9,
  step_delta_share: 0.082,
  step_delta_low_ps: 3.1e9,
  step_delta_high_ps: 3.6e9,
  noise_floor_ps: 2.1e8,
  noise_floor_share: 0.005,
  baseline_steps: 12,
  experiment_steps: 8,
};

describe("verdictOf", () => {
  it("says what changed, how sure that is and what could have been seen", () => {
    const verdict = verdictOf(made(SLOWER));
    expect(verdict.headline).toBe("The experiment is slower: a step takes 3.360 ms (+8.2%) more.");
    expect(verdict.tone).toBe("bad");
    expect(verdict.said).toEqual([
      "With 95% confidence, the difference is between +3.100 ms and +3.600 ms.",
      "Noise floor: with 12 steps of the baseline and 8 of the experiment, a difference below 210.0 µs (0.5% of the step) cannot be distinguished from noise.",
    ]);
  });
  it("says less where the step takes less", () => {
    expect(verdictOf(made({ verdict: "faster", step_delta_ps: -1e9, step_delta_share: -0.02 })).headline).toBe(
      "The experiment is faster: a step takes 1.000 ms (−2.0%) less.",
    );
  });
  it("says what a change rests on, and when the mean goes the other way", () => {
    const verdict = verdictOf(
      made({
        ...SLOWER,
        step_delta_ps: -1e9,
        verdict_by: "usual steps",
        usual_delta_ps: 2e9,
        usual_delta_low_ps: 1e9,
        usual_delta_high_ps: 3e9,
      }),
    );
    expect(verdict.headline).toBe("The experiment is slower, although its mean is not.");
    expect(verdict.said[0]).toBe("Evidence: the usual steps.");
    expect(verdict.said).toContain("The usual steps, whatever a few slow ones do: +2.000 ms, between +1.000 ms and +3.000 ms.");
  });
  it("tells the same, which is shown, from undecided, and says what would decide", () => {
    expect(verdictOf(made({ verdict: "unchanged", step_delta_ps: -1e7, margin_share: 0.01 })).headline).toBe(
      "The step time is the same within 1.0% of a step: it takes 10.00 µs less.",
    );
    expect([shownWord("unchanged"), shownWord("undecided"), shownWord(null)]).toEqual(["the same", "undecided", null]);
    const open = verdictOf(
      made({
        verdict: "undecided",
        step_delta_ps: 1e8,
        baseline_steps: 12,
        experiment_steps: 8,
        margin_share: 0.01,
        same_low_ps: -1e8,
        same_high_ps: 3e8,
        steps_to_decide: 40,
      }),
    );
    expect(open.headline).toBe("Undecided: the step takes 100.0 µs more, but it is neither shown to differ nor to be the same.");
    expect(open.said[0]).toBe(
      "The interval −100.0 µs to +300.0 µs is not within 1.0% of a step. About 40 steps of each run would decide it.",
    );
    const few = verdictOf(made({ verdict: "undecided", step_delta_ps: 1e7, baseline_steps: 2, experiment_steps: 1, noise_floor_ps: null }));
    expect(few.headline).toMatch(/too few steps/);
    expect(few.said).toEqual([
      "The noise floor is unknown: 2 steps of the baseline and 1 of the experiment are too few to know how much the steps vary.",
    ]);
  });
  it("says nothing of a difference of runs that are not comparable", () => {
    const verdict = verdictOf(made({ verdict: "not comparable" }));
    expect(isNotComparable(made({ verdict: "not_comparable" }))).toBe(true);
    expect([verdict.tone, verdict.said]).toEqual(["warn", []]);
  });
  it("is unknown without a verdict", () => {
    expect(verdictOf(made({})).headline).toBe("The change of the step time is unknown.");
  });
});

it("takes the mean step times of both runs, or none", () => {
  expect(meansOf(made({ baseline_step_ps: 4e9, experiment_step_ps: 5e9 }))).toEqual({ baseline: 4e9, experiment: 5e9 });
  expect(meansOf(made({ baseline_step_ps: 4e9, experiment_step_ps: null }))).toBeNull();
  expect(meansOf(made({}))).toBeNull();
});

it("shows the other findings, with links of its own page", () => {
  const to = (analysis: string) => link(analysis, { table: "ops", row: "fusion.1" });
  const report = {
    ...made(SLOWER),
    findings: [
      finding("step_time", { severity: "warning" }),
      finding("usual_steps"),
      finding("not_comparable", { severity: "error" }),
      finding("slower_op", { severity: "warning", links: [to("compare"), to("ops")] }),
    ],
  };
  expect(otherFindings(report).map((one) => [one.id, one.links?.length])).toEqual([
    ["usual_steps", 0],
    ["slower_op", 1],
  ]);
  expect(stepFinding(report)?.id).toBe("step_time");
  expect(stepFinding(made({}))).toBeNull();
});

it("keeps the facts that differ and matter", () => {
  const facts = tableWith(
    "facts",
    ["what", "same", "breaks"],
    [
      ["chip", "differs", true],
      ["mesh", "same", true],
      ["libtpu", "differs", false],
      ["dtype", "unknown", "yes"],
      ["batch", "differs", "yes"],
    ],
  );
  expect(breaking(facts)?.rows.map((row) => row[0])).toEqual(["chip", "batch"]);
  expect(breaking(null)).toBeNull();
});

it("does not write digits that mean nothing", () => {
  expect([0.00001, 0.00234, 0.4567, 1].map(probability)).toEqual(["below 0.0001", "0.0023", "0.46", "1.00"]);
});
