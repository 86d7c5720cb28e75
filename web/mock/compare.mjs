// Two made-up runs held against each other, a pair that is not comparable, and a gate.
import { column, value } from "./parts.mjs";
import { seeded } from "./random.mjs";

const MS = 1e9;
const US = 1e6;
const table = (id, title, columns, rows) => ({ id, title, columns, rows });
const text = (id, label = id) => column(id, label, "text");
const ps = (id, label = id) => column(id, label, "duration_ps", "ps");
const share = (id, label = id) => column(id, label, "share", "1");
const quantity = (id, label = id) => column(id, label, "quantity");

const DIFFERS = { cpu: "not comparable", "serving-v6e": "slower", "train-v6e": "faster" };
const ROUND = {
  new: 0.61 * MS,
  gone: -0.22 * MS,
  count: 0.12 * MS,
  work: 0,
  efficiency: 2.9 * MS,
  idle: -0.08 * MS,
  devices: 0.03 * MS,
  rest: 1,
};

const METRICS = [
  ["step time mean", "ps", 41.2 * MS, "worse"],
  ["step time p50", "ps", 41.1 * MS, "worse"],
  ["step time p90", "ps", 41.9 * MS, "worse"],
  ["MFU", "share", 0.412, "worse"],
  ["HBM share of peak", "share", 0.331, "unchanged"],
  ["idle share", "share", 0.071, "better"],
  ["exposed communication", "ps", 1.9 * MS, "unchanged"],
  ["peak HBM", "B", 12.4 * 2 ** 30, "worse"],
  ["compile time", "ps", null, "unknown"],
];

const OPS = [
  ["fusion.98", "fusion.123", "slower", "convolution fusion", "loss/logits", 8.1 * MS, 2.6 * MS, "efficiency"],
  ["copy.41", null, "new", "copy", "layer_3/attention", null, 0.36 * MS, "new"],
  ["copy.42", null, "new", "copy", "layer_4/attention", null, 0.25 * MS, "new"],
  [null, "transpose.7", "gone", "data formatting", "layer_0/mlp", 0.22 * MS, -0.22 * MS, "gone"],
  ["fusion.12", "fusion.11", "slower", "loop fusion", "layer_2/mlp", 2.2 * MS, 0.3 * MS, "efficiency"],
  ["all-gather.3", "all-gather.3", "regrouped", "all-gather", "layer_1/mlp", 1.4 * MS, 0.12 * MS, "count"],
  ["fusion.4", "fusion.4", "faster", "loop fusion", "layer_1/norm", 0.9 * MS, -0.07 * MS, "efficiency"],
];

function opRows() {
  const random = seeded(3);
  const rest = Array.from({ length: 60 }, (_, i) => {
    const time = (4 * MS) / (i + 1);
    return [
      `fusion.${200 + i}`,
      `fusion.${300 + i}`,
      "unchanged",
      "loop fusion",
      `layer_${i % 12}/mlp`,
      time,
      (random() - 0.5) * US,
      "efficiency",
    ];
  });
  return [...OPS, ...rest].map(([op, was, change, category, scope, before, delta, kind]) => [
    op ?? was,
    was,
    change,
    "jit_train_step",
    category,
    scope,
    before,
    change === "gone" ? null : (before ?? 0) + delta,
    delta,
    delta - 20 * US,
    delta + 20 * US,
    change === "unchanged" ? 0.6 : 0.0002,
    ...["count", "work", "efficiency"].map((one) => (before === null || change === "gone" ? null : one === kind ? delta : 0)),
    change === "new" ? null : 1,
    change === "gone" ? null : 1,
    change === "new" || change === "gone" ? null : "structure",
    "train.py:88",
  ]);
}

function facts(broken) {
  const row = (what, baseline, experiment, same, breaks) => [what, baseline, experiment, same, breaks];
  return table(
    "facts",
    "What makes runs comparable",
    [
      text("what", "What"),
      text("baseline", "Baseline"),
      text("experiment", "Experiment"),
      text("same", "Same"),
      column("breaks", "Breaks", "flag"),
    ],
    [
      row("chip", "TPU v6 Lite", broken ? "CPU" : "TPU v6 Lite", broken ? "differs" : "same", true),
      row("devices of the job", "16", broken ? "1" : "16", broken ? "differs" : "same", true),
      row("entry parameters", "bf16[32,2048]", broken ? "f32[8,2048]" : "bf16[32,2048]", broken ? "differs" : "same", true),
      row("libtpu", "0.0.50", "0.0.52", "differs", false),
      row("XLA flags", null, null, "unknown", false),
    ],
  );
}

function metrics(known, scale) {
  return table(
    "metrics",
    "Metrics",
    [
      text("metric", "Metric"),
      text("unit", "Unit"),
      quantity("baseline", "Baseline"),
      quantity("experiment", "Experiment"),
      column("delta", "Delta", "change"),
      share("delta_share", "Change"),
      text("verdict", "Verdict"),
    ],
    METRICS.map(([metric, unit, was, verdict]) => {
      const by = verdict === "better" ? -scale : verdict === "worse" ? scale : 0;
      const is = was === null ? null : was * (1 + by);
      return [metric, unit, was, is, was === null ? null : is - was, was === null ? null : by, known ? verdict : "unknown"];
    }),
  );
}

export function compare(out, query) {
  const others = (query.get("other") ?? "").split(",").filter(Boolean);
  const pick = Math.max(0, Number(query.get("pick") ?? "1") - 1);
  const verdict = DIFFERS[others[pick]] ?? "unchanged";
  const broken = verdict === "not comparable";
  const anyway = query.get("anyway") === "yes";
  const said = broken && anyway ? "slower" : verdict;
  const sum = Object.values(ROUND).reduce((total, one) => total + one, 0);
  const mean = 41.2 * MS;
  const random = seeded(9);
  const points = (base, count) =>
    Array.from({ length: count }, (_, i) => [100 + i, Math.round(base + (random() - 0.5) * 0.5 * MS + (i === 0 ? 2 * MS : 0))]);
  const series = (id, title, all) => ({ id, title, x: { label: "step", unit: "1" }, y: { label: "step time", unit: "ps" }, points: all });
  const [was, is] = [points(mean, 12), points(mean + sum, 8)];
  out.values = { verdict: value(said, "", "derived") };
  out.tables = [metrics(!broken || anyway, sum / mean)];
  if (!broken || anyway) {
    out.values = {
      ...out.values,
      step_delta_ps: value(sum, "ps"),
      step_delta_share: { ...value(sum / mean, "1"), kind: "share" },
      step_delta_low_ps: value(sum - 0.2 * MS, "ps"),
      step_delta_high_ps: value(sum + 0.2 * MS, "ps"),
      step_delta_p: { ...value(0.00002, "1"), kind: "float" },
      step_delta_rank_p: { ...value(0.0003, "1"), kind: "float" },
      noise_floor_ps: value(0.21 * MS, "ps"),
      noise_floor_share: { ...value(0.0051, "1"), kind: "share" },
      baseline_step_ps: value(mean, "ps"),
      experiment_step_ps: value(mean + sum, "ps"),
      baseline_steps: value(12, "1"),
      experiment_steps: value(8, "1"),
      matched_share: { ...value(0.993, "1"), kind: "share" },
    };
    out.tables.push(
      table(
        "waterfall",
        "From the baseline's step to the experiment's",
        [
          text("kind", "Kind"),
          ps("delta_ps", "Change"),
          share("share", "Of the step"),
          column("ops", "Ops", "int"),
          text("largest", "Largest"),
        ],
        Object.entries(ROUND).map(([kind, by]) => [
          kind,
          by,
          by / mean,
          kind === "idle" || kind === "rest" ? null : 2,
          kind === "efficiency" ? "`fusion.98` +2.6 ms" : "",
        ]),
      ),
      table(
        "ops",
        "Ops",
        [
          text("op", "Op"),
          text("was", "Was"),
          text("change", "Change"),
          text("module", "Program"),
          text("category", "Category"),
          text("framework_op", "Scope"),
          ps("baseline_ps", "Baseline"),
          ps("experiment_ps", "Experiment"),
          ps("delta_ps", "Delta"),
          ps("low_ps", "Low"),
          ps("high_ps", "High"),
          column("p", "p", "float"),
          ps("count_ps", "By count"),
          ps("work_ps", "By work"),
          ps("efficiency_ps", "By efficiency"),
          column("baseline_executions", "Runs before", "float"),
          column("experiment_executions", "Runs now", "float"),
          text("how", "Matched by"),
          text("source", "Source"),
        ],
        opRows(),
      ),
      table(
        "classes",
        "Time of a step by class",
        [text("class", "Class"), ps("baseline_ps", "Baseline"), ps("experiment_ps", "Experiment"), ps("delta_ps", "Delta")],
        [
          ["compute", 37 * MS, 40.5 * MS, 3.5 * MS],
          ["between programs", 1.3 * MS, 1.22 * MS, -0.08 * MS],
        ],
      ),
      table(
        "memory",
        "Memory at the peak",
        [
          text("what", "What"),
          column("baseline_bytes", "Baseline", "bytes", "B"),
          column("experiment_bytes", "Experiment", "bytes", "B"),
          column("delta_bytes", "Delta", "bytes", "B"),
        ],
        [["activations", 6.1 * 2 ** 30, 7.2 * 2 ** 30, 1.1 * 2 ** 30]],
      ),
      table(
        "programs",
        "Programs",
        [text("program", "Program"), text("was", "Was"), column("differences", "Differences", "int")],
        [["jit_train_step", "jit_train_step", 14]],
      ),
    );
    out.series = [series("baseline", "Baseline", was), series("experiment", "Experiment", is)];
    out.findings = [
      {
        id: "step_time",
        severity: "warning",
        claim: "A step takes 3.36 ms (8.2%) more than before",
        evidence: "12 and 8 steps; 95% of +3.16 ms to +3.56 ms",
        status: "derived",
        links: [{ analysis: "compare", params: [], table: "ops", row: "fusion.98", devices: [], steps: null, window_ps: null }],
      },
    ];
  }
  out.tables.push(
    facts(broken),
    table(
      "runs",
      "Runs",
      [text("run", "Run"), text("verdict", "Verdict"), ps("step_delta_ps", "Change")],
      others.map((id) => [id, DIFFERS[id] ?? "unchanged", DIFFERS[id] === "not comparable" ? null : sum]),
    ),
    table(
      "steps",
      "Steps",
      [text("run", "Run"), column("step", "Step", "int"), text("class", "Class"), ps("time_ps", "Time")],
      [
        ...was.map(([step, time]) => ["baseline", step, step === 100 ? "warm-up" : "steady", time]),
        ...is.map(([step, time]) => ["experiment", step, step === 100 ? "warm-up" : "steady", time]),
      ],
    ),
  );
}

export function check(out, query) {
  const baseline = query.get("baseline") ?? "";
  const budget = query.get("budget") ?? "";
  const broken = DIFFERS[baseline] === "not comparable";
  out.gate = broken ? "not_comparable" : "failed";
  out.passed = broken ? null : false;
  out.values = { verdict: value(broken ? "not comparable" : "slower", "") };
  const budgets = [
    ["step time mean", "ps", 40 * MS, 44.5 * MS, 44.3 * MS, 44.7 * MS, "fail", "above its limit with 95% confidence"],
    ["MFU", "share", 0.35, 0.381, null, null, "pass", ""],
    ["compile time", "ps", 60e12, null, null, null, "unknown", "no compilation is in the capture"],
  ];
  out.tables = [
    ...(budget === ""
      ? []
      : [
          table(
            "budgets",
            "Budgets",
            [
              text("metric", "Metric"),
              text("unit", "Unit"),
              quantity("limit", "Limit"),
              quantity("value", "Value"),
              quantity("low", "Low"),
              quantity("high", "High"),
              text("verdict", "Verdict"),
              text("why", "Why"),
            ],
            budgets,
          ),
        ]),
    ...(baseline === "" ? [] : [metrics(!broken, 0.08), facts(broken)]),
  ];
}

/** A small tree that differs from run to run. */
export function opProfile(out, query) {
  const slower = query.get("run") === "serving-v6e";
  const columns = [
    column("self_ps", "Self time", "duration_ps", "ps"),
    share("share", "Share"),
    column("occurrences", "Times run", "int"),
    text("kind", "Kind"),
  ];
  const leaf = (label, time, kind = "op") => ({ label, values: [time * MS, time / 50, 12, kind], children: [] });
  const group = (label, children) => {
    const time = children.reduce((total, one) => total + one.values[0], 0) / MS;
    return { label, values: [time * MS, time / 50, 12, "category"], children };
  };
  const tops = [
    group("convolution fusion", [leaf(slower ? "fusion.98" : "fusion.123", slower ? 10.7 : 8.1), leaf("fusion.4", 6)]),
    group("loop fusion", [leaf("fusion.12", 2.2), leaf("fusion.200", 4)]),
    ...(slower ? [group("copy", [leaf("copy.41", 0.4)])] : []),
  ];
  out.trees = [{ id: "profile", title: "By category", columns, nodes: [group("all", tops)] }];
}
