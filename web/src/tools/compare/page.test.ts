import { describe, expect, it } from "vitest";

import { analysis } from "../../api/made.testdata";
import { flatten } from "../../widgets/tree/flat";
import type { TreeNode } from "../../api/types";
import { experimentsOf, pickedOf, toggled, withBaseline } from "./address";
import { arranged, partShown, tablesOf, withoutUnknown } from "./columns";
import { furtherOf } from "./further";
import { made, tableWith } from "./made.testdata";
import { markdown } from "./markdown";
import { nearestDot, placed, stepDots, tickTexts } from "./points";
import { openIn, pathsAfter, sameIn } from "./sync";

describe("the runs in the address", () => {
  it("are each there once", () => {
    expect(experimentsOf("b, c,,b")).toEqual(["b", "c"]);
    expect(experimentsOf(undefined)).toEqual([]);
    expect(toggled(["b"], "c").view?.["other"]).toBe("b,c");
    expect(toggled(["b", "c"], "b").view?.["other"]).toBe("c");
  });
  it("swap where the baseline becomes the experiment", () => {
    expect(withBaseline("b", ["b"], "a")).toMatchObject({ run: "b", view: { other: "a" } });
    expect(withBaseline("b", ["b", "c"], "a")).toMatchObject({ run: "b", view: { other: "c" } });
    expect(withBaseline("d", ["b"], "a")).toMatchObject({ run: "d", view: { other: "b" } });
    expect(withBaseline("d", [], "a").view?.["other"]).toBe("");
  });
  it("are picked by a number that counts from 1", () => {
    expect([undefined, "2", "7", "x", "0"].map((pick) => pickedOf(["b", "c"], pick))).toEqual([0, 1, 0, 0, 0]);
  });
});

describe("tables", () => {
  it("are put in order without losing a column", () => {
    const table = arranged(tableWith("ops", ["a", "b", "c", "d"], [[1, 2, 3, 4]]), ["c", "none", "a"], ["d"]);
    expect(table.columns.map((column) => column.id)).toEqual(["c", "a", "b"]);
    expect(table.rows).toEqual([[3, 1, 2]]);
  });
  it("lose a column that says nothing", () => {
    const table = tableWith(
      "metrics",
      ["metric", "verdict"],
      [
        ["a", null],
        ["b", null],
      ],
    );
    expect(withoutUnknown(table, "verdict")?.columns.map((column) => column.id)).toEqual(["metric"]);
    const said = { ...table, rows: [["a", "better"]] };
    expect(withoutUnknown(said, "verdict")).toBe(said);
    expect(withoutUnknown(null, "verdict")).toBeNull();
  });
  it("stand in a part of the page each; new ones among the facts", () => {
    const tables = [tableWith("metrics", [], [[]]), tableWith("novel", ["a"], [["x"]]), tableWith("memory", ["a"], [])];
    expect(tablesOf(tables, "facts").map((table) => table.id)).toEqual(["novel"]);
    expect(tablesOf(tables, "memory")).toEqual([]);
  });
  it("are shown where a finding points at them", () => {
    const parts = ["ops", "memory", "facts"];
    expect(partShown(undefined, undefined, parts)).toBe("ops");
    expect(partShown(undefined, "buffers:x", parts)).toBe("memory");
    expect(partShown("facts", "buffers:x", parts)).toBe("memory");
    expect(partShown("facts", undefined, parts)).toBe("facts");
    expect(partShown("gone", "metrics:x", parts)).toBe("ops");
  });
});

describe("step times", () => {
  const report = {
    ...made({}, [
      tableWith(
        "steps",
        ["run", "step", "class", "time_ps"],
        [
          ["A", 1, "warm-up", 9],
          ["A", 2, "steady", 5],
          ["B", 1, "steady", 7],
        ],
      ),
    ]),
    series: [
      {
        id: "baseline",
        title: "",
        x: { label: "", unit: "" },
        y: { label: "", unit: "" },
        points: [
          [1, 9],
          [2, 5],
        ] as [number, number][],
      },
      {
        id: "experiment",
        title: "",
        x: { label: "", unit: "" },
        y: { label: "", unit: "" },
        points: [
          [1, 7],
          [2, null],
        ] as [number, number | null][],
      },
    ],
  };
  it("have the classes that the table of steps gives them", () => {
    expect(stepDots(report).map((dot) => `${dot.run} ${dot.step} ${dot.kind} ${dot.ps}`)).toEqual([
      "baseline 1 warm-up 9",
      "baseline 2 steady 5",
      "experiment 1 steady 7",
    ]);
  });
  it("stand by time across and by order down, and are found there", () => {
    const dots = placed(stepDots(report), (ps) => ps * 10, { baseline: [0, 30], experiment: [50, 70] });
    expect(dots.map((dot) => [dot.x, dot.y])).toEqual([
      [90, 10],
      [50, 20],
      [70, 60],
    ]);
    expect(nearestDot(dots, 68, 58, 10)).toBe(2);
    expect(nearestDot(dots, 0, 0, 10)).toBeNull();
  });
});

it("writes ticks with as many digits as tell them apart", () => {
  expect(tickTexts([1e9, 2e9])).toEqual(["1.00 ms", "2.00 ms"]);
  expect(tickTexts([10.05e9, 10.1e9, 10.15e9])).toEqual(["10.05 ms", "10.10 ms", "10.15 ms"]);
});

describe("two trees", () => {
  const node = (label: string, ...children: TreeNode[]): TreeNode => ({ label, values: [], children });
  const first = flatten({ nodes: [node("all", node("a", node("x")), node("b", node("y")))] });
  const second = flatten({ nodes: [node("all", node("a", node("z")), node("c", node("w")))] });
  it("open the same branches", () => {
    const paths = pathsAfter(first, new Set([0, 1]), new Set(["all > c"]));
    expect([...paths].sort()).toEqual(["all", "all > a", "all > c"]);
    expect(openIn(second, paths)).toEqual(new Set([0, 1, 3]));
    // What is closed in one is closed in the other; what only the other has stays.
    expect([...pathsAfter(first, new Set([0]), paths)].sort()).toEqual(["all", "all > c"]);
  });
  it("select the same node, where there is one", () => {
    expect(sameIn(second, "all > a")).toBe(1);
    expect(sameIn(second, "all > b")).toBeNull();
    expect(sameIn(second, null)).toBeNull();
  });
});

it("offers no page that the server does not have", () => {
  expect(furtherOf("a", "b", []).map((way) => way.to.page)).toEqual(["timeline"]);
  expect(furtherOf("a", "b", [analysis("hlo-diff")])[1]?.to).toEqual({ page: "hlo", view: { tab: "diff", other: "b" } });
});

it("is taken along as Markdown", () => {
  const metrics = {
    ...tableWith("metrics", ["metric", "unit", "baseline", "experiment", "delta"], [["step | time", "ps", 1e9, 2e9, 1e9]]),
  };
  const quantities = {
    ...metrics,
    columns: metrics.columns.map((column, i) =>
      i > 1 ? { ...column, kind: i > 3 ? ("change" as const) : ("quantity" as const) } : column,
    ),
  };
  const ops = tableWith(
    "ops",
    ["op", "was", "change", "delta_ps"],
    [
      ["f.1", "f.2", "slower", 1e9],
      ["f.3", "f.3", "unchanged", 1],
    ],
  );
  const text = markdown(made({ verdict: "slower", step_delta_ps: 1e9 }, [quantities, ops]), "before", "after");
  expect(text).toBe(
    [
      "**The experiment is slower: a step takes 1.000 ms more.**",
      "",
      "Baseline: `before`, experiment: `after`",
      "",
      "| Metric | Baseline | Experiment | Delta |",
      "| --- | --- | --- | --- |",
      "| step \\| time | 1.000 ms | 2.000 ms | +1.000 ms |",
      "",
      "| Op | Change | Per step |",
      "| --- | --- | --- |",
      "| `f.1` | slower | +1.000 ms |",
      "",
    ].join("\n"),
  );
});
