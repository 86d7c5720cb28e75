// A made-up diagnosis and the critical path behind it: causes with and without a ceiling, every verdict, links of every kind.
import { column, value } from "./parts.mjs";

const MS = 1e9;
const link = (analysis, more = {}) => ({ analysis, params: [], table: "", row: null, devices: [], steps: null, window_ps: null, ...more });
const cause = (id, claim, saved, links) => ({
  id,
  severity: saved === null ? "info" : saved >= 0.05 ? "warning" : "info",
  claim,
  evidence: "4.21 ms of each step of 18.2 ms, on 8 of 8 devices",
  ceiling: saved === null ? "not known, if nothing waited" : `${(1 / (1 - saved)).toFixed(2)}x, if it were hidden behind compute`,
  speedup: saved === null ? null : 1 / (1 - saved),
  lever: "let the compiler make it asynchronous: `--xla_tpu_enable_latency_hiding_scheduler=true`",
  falsifier: "the step keeps its length when the collective is replaced by a copy",
  status: "derived",
  links,
});

const CAUSES = [
  cause("exposed_communication", "`all-reduce.3` is exposed for 23.1% of the active window", 0.231, [
    link("ops", { table: "ops", row: "all-reduce.3" }),
    link("timeline", { devices: ["vm-0/TPU:0"], window_ps: [12 * MS, 13.1 * MS] }),
  ]),
  cause("straggler", "vm-1/TPU:3 works 12.1% longer than the median of the others", 0.121, [
    link("steps", { table: "steps", steps: "2-5", devices: ["vm-1/TPU:3"] }),
  ]),
  cause("recompilation", "A program was compiled in the window; what that cost cannot be told", null, []),
];
const STEPS = [
  ["What is the baseline?", "stated", "18.2 ms a step; 39.8% of peak FLOP/s", "overview"],
  ["Which limit is near, and how far from it?", "bad", "memory regime, 2.8x below the ridge; gap 41%, large", "roofline"],
  ["Is the program what was written?", "good", "24 matrix products; no copies with traffic", "hlo counters"],
  ["What does the timeline show in the steady state?", "worth a look", "bubbles 7.1% of the active window", "timeline"],
  ["What dominates?", "stated", "compute-bound ops 61.2%; largest op fusion.12 9.8%", "ops --by category"],
  ["What do compute and memory utilisation say together?", "good", "39.8% of peak FLOP/s, 71.2% of HBM bandwidth", "diagnose"],
  ["Which causes, and what would removing each give at most?", "stated", "exposed communication 1.30x, straggler 1.14x", "diagnose"],
  ["What to try first, alone?", "stated", "make `all-reduce.3` asynchronous", "ops"],
  ["How to tell that a change helped?", "unknown", "one step alone has no spread", null],
];
const CHECKS = [
  ["exposed communication", "found", 0.231, "good up to 5.0%, bad from 10.0%", "all-reduce.3 is exposed", "op lines"],
  ["straggler", "found", 0.121, null, "vm-1/TPU:3 lags", "step markers"],
  ["idle inside", "clear", null, "good up to 5.0%, bad from 10.0%", "no op runs for 0.2% of the active window", "program executions"],
  ["register spills", "unknown", null, null, "one run alone cannot tell", "two runs of one kernel"],
  ["launch bound", "does not apply", null, null, "only on GPU", ""],
];

const table = (id, title, columns, rows) => ({ id, title, columns, rows });
const text = (...ids) => ids.map((id) => column(id, id, "text"));

export function diagnosis(out) {
  out.findings = CAUSES;
  out.values = { cause_count: value(CAUSES.length, "", "derived"), first_speedup: value(null, "1") };
  out.tables = [
    table(
      "protocol",
      "Nine steps",
      [column("step", "Step", "int"), ...text("question", "verdict", "said", "see")],
      STEPS.map((step, i) => [i + 1, ...step]),
    ),
    table(
      "causes",
      "Causes",
      [
        column("rank", "Rank", "int"),
        ...text("id", "claim"),
        column("saved_share", "Saved", "share"),
        column("speedup", "Speed-up", "float"),
      ],
      CAUSES.map((one, i) => [i + 1, one.id.replaceAll("_", " "), one.claim, one.speedup && 1 - 1 / one.speedup, one.speedup]),
    ),
    table(
      "checks",
      "What was checked",
      [...text("rule", "verdict"), column("saved_share", "Saved", "share"), ...text("threshold", "said", "needs")],
      CHECKS,
    ),
    table("thresholds", "What numbers are held against", text("threshold", "good", "bad", "source"), [
      ["worth a warning", "to 5.0%", "from 50.0%", "this project"],
    ]),
  ];
}

const PATH = [
  [0, 6, "vm-0/TPU:0", "compute", "fusion.12"],
  [6, 2.5, "vm-1/TPU:3", "compute", "fusion.40"],
  [8.5, 4.2, "vm-1/TPU:3", "exposed communication", "all-reduce.3"],
  [12.7, 5.5, "vm-0/TPU:0", "compute", "fusion.7"],
];

export function criticalPath(out, query) {
  const asked = (query.get("if") ?? "").split(";").map((one) => one.trim());
  const changes = asked[0] === "" ? ["communication free", "no straggler", "perfect overlap"] : asked;
  const duration = (id) => column(id, id, "duration_ps", "ps");
  out.values = { step_ps: value(18.2 * MS, "ps"), path_ps: value(18.2 * MS, "ps") };
  out.tables = [
    table(
      "parts",
      "What the critical path goes to",
      [...text("part"), duration("time_ps")],
      [
        ["compute", 14 * MS],
        ["exposed communication", 4.2 * MS],
      ],
    ),
    table(
      "what_if",
      "What if",
      [...text("change"), duration("step_ps"), column("speedup", "Speed-up", "float")],
      changes.map((change, i) => [change, (14 + i) * MS, 18.2 / (14 + i)]),
    ),
    table(
      "chain",
      "The path, in order",
      [duration("start_ps"), duration("time_ps"), ...text("device", "part", "what")],
      PATH.map(([start, time, ...words]) => [start * MS, time * MS, ...words]),
    ),
  ];
}
