// Made-up reports in the contract's shape: a healthy training run, a diluted one, a CPU one without peaks.
import { check, compare, opProfile } from "./compare.mjs";
import { counters, graph, hloText, modules, search } from "./hlo.mjs";
import { attribute, diagnose, peak, profile } from "./memory.mjs";
import { column, value } from "./parts.mjs";
import { seeded } from "./random.mjs";
import { criticalPath, diagnosis } from "./why.mjs";

const MS = 1e9;

export const runs = {
  runs: [
    {
      id: "train-v6e",
      name: "train-v6e/2026_11_20_18_02_11",
      path: "/logs/train-v6e/plugins/profile/2026_11_20_18_02_11",
      hosts: ["vm-0", "vm-1"],
      size_bytes: 48_211_004,
      modified_ms: 1795197731000,
    },
    {
      id: "serving-v6e",
      name: "serving-v6e/2026_11_19",
      path: "/logs/serving-v6e",
      hosts: ["vm-0"],
      size_bytes: 9_104_221,
      modified_ms: 1795097731000,
    },
    { id: "cpu", name: "laptop cpu", path: "/logs/cpu", hosts: ["laptop"], size_bytes: 310_210, modified_ms: 1794097731000 },
    { id: "broken", name: "cut short", path: "/logs/broken", hosts: ["vm-0"], size_bytes: 8_000, modified_ms: 1793097731000 },
  ],
  default: "train-v6e",
  version: "0.1.0",
  logdir: "/logs",
};

const param = (id, kind = "text", fallback = "") => ({ id, doc: "", kind, default: fallback });
const MODULE = param("module");
const SPACE = param("space", "text", "hbm");
const RULES = param("rules", "document");
const RADIUS = param("radius", "count", "3");
const DIRECTION = { ...param("direction", "choice", "both"), choices: ["both", "operands", "users"] };
const family = (first, id, question, params) => ({ id: `${first}-${id}`, name: `${first} ${id}`, question, params });

export const analyses = {
  analyses: [
    { id: "overview", question: "What happened, and what bounds the run?", params: [] },
    { id: "diagnose", question: "Why is this run slow, and what would removing each cause give at most?", params: [] },
    {
      id: "critical-path",
      question: "Which chain makes a step as long as it is, and how long would it be if parts were faster?",
      params: [{ ...param("if"), doc: "what to change: `communication free`, `perfect overlap`, `no straggler`, `no idle`" }],
    },
    { id: "steps", question: "How long does a step take, and which steps differ?", params: [] },
    {
      id: "ops",
      question: "Which operations take the time?",
      params: [
        {
          id: "by",
          doc: "What a row of the table is",
          kind: "choice",
          choices: ["op", "category", "module", "framework-op", "source", "deduplicated"],
          default: "op",
        },
      ],
    },
    { id: "roofline", question: "How near is each program to the limit of the hardware?", params: [] },
    ...[
      ["peak", "How much memory does a program need, and what is alive when it needs the most?", [MODULE, SPACE]],
      ["attribute", "Whose is the memory at the peak: parameters, optimiser, KV cache, activations?", [MODULE, RULES]],
      ["profile", "What did the runtime's allocators do?", []],
      ["diagnose", "What could be saved?", [MODULE]],
    ].map(([id, question, params]) => family("memory", id, question, params)),
    ...[
      ["modules", "Which programs ran?", []],
      ["text", "What does the program look like, as XLA prints it?", [MODULE, param("computation")]],
      ["graph", "What feeds an instruction, and what does it feed?", [MODULE, param("node"), RADIUS, DIRECTION, param("to")]],
      ["search", "Which instructions are called so?", [MODULE, param("query")]],
      ["counters", "How many dots, copies and exponentials?", [MODULE, param("expect-dot", "count")]],
      ["fusions", "What was fused?", [MODULE]],
      ["diff", "What differs between two modules?", [MODULE]],
    ].map(([id, question, params]) => ({ ...family("hlo", id, question, params), others: id === "diff" ? "other" : null })),
    {
      id: "op-profile",
      question: "Where does the device time go?",
      params: [{ ...param("by", "choice", "program"), choices: ["program", "category"] }],
    },
    {
      id: "compare",
      question: "What changed between these runs, is it more than noise, and which ops make up the difference?",
      others: "other",
      takes_many: true,
      params: [{ ...param("anyway", "choice", "no"), choices: ["no", "yes"] }, param("rows", "count", "100"), param("pick", "count", "1")],
    },
    {
      id: "check",
      question: "Does this run keep its budgets, and is it no slower than its baseline?",
      others: "baseline",
      params: [param("budget", "document"), param("wall", "document"), param("claim"), param("expect"), param("floor")],
    },
    { id: "inspect", question: "What does the profile hold, and what is missing from it?", params: [] },
  ],
};

function shell(analysis, run, query) {
  const scope = {
    hosts: ["vm-0"],
    devices: devices(run),
    left_out: query.get("steady") === "1" ? ["4 warm-up, 4 cut and 4 outlying steps"] : [],
  };
  return {
    analysis,
    version: "1",
    scope,
    provenance: {
      files: [{ path: `/logs/${run}/vm-0.xplane.pb`, bytes: 24_100_200 }],
      hosts: ["vm-0"],
      coverage: { devices: 4, devices_in_profile: 4 },
      peaks: [{ device_type: "TPU v6 Lite", resource: "flops", rate: 9.18e14, unit: "FLOP/s", source: "trace" }],
    },
    quality: [],
    values: {},
    tables: [],
    trees: [],
    series: [],
    findings: [],
    texts: [],
    passed: null,
  };
}

function devices(run) {
  return run === "cpu" ? ["CPU:0"] : ["TPU:0", "TPU:1", "TPU:2", "TPU:3"];
}

function overview(run, out) {
  const idle = run === "serving-v6e";
  const cpu = run === "cpu";
  const span = idle ? 4_800 * MS : 402 * MS;
  const active = idle ? 130 * MS : 391 * MS;
  const busy = active * 0.94;
  const known = (v) => (cpu ? null : v);
  out.values = {
    device_type: value(cpu ? "CPU" : "TPU v6 Lite", "", "measured"),
    device_count: value(devices(run).length, "1", "measured"),
    bound_by: value(idle ? "input" : cpu ? "unknown" : "memory", ""),
    capture_span_ps: value(span, "ps", "measured", "Length of the capture"),
    active_window_ps: value(active, "ps", "measured"),
    device_busy_ps: value(busy, "ps", "measured"),
    idle_share_of_capture: value(1 - busy / span, "1"),
    idle_share_of_active_window: value(1 - busy / active, "1"),
    duty_cycle: value(known(0.93), "1"),
    step_count: value(18, "1", "measured"),
    step_time_mean_ps: value(19.36 * MS, "ps"),
    step_time_p50_ps: value(18.71 * MS, "ps"),
    step_source: value("launches of the program that the device runs longest", "", "measured"),
    flop_rate: value(known(2.05e14), "FLOP/s"),
    flop_share_of_peak: value(known(0.223), "1"),
    hbm_rate: value(known(1.29e12), "B/s"),
    hbm_share_of_peak: value(known(0.787), "1"),
    flop_share_of_peak_over_capture: value(known((0.223 * active) / span), "1"),
  };
  if (idle) {
    out.findings.push({
      id: "diluted_averages",
      severity: "warning",
      claim: "The devices are idle for 97.5% of the capture: averages over it are diluted. Read the active window.",
      evidence: "active window 130 ms of 4.80 s captured; idle inside it 6.0%.",
      ceiling: "none: it is the capture that is long, not the program that is slow",
      lever: "start and stop the profiler around the steps in question, or use --window or --steady",
      falsifier: "the program was meant to run during the rest of the capture",
      status: "measured",
    });
  }
  out.findings.push({
    id: "bound_by",
    severity: "info",
    claim: cpu
      ? "The run is bound by ops of unknown limit: 94.0% of the active window."
      : "The run is bound by memory-bound ops: 61.0% of the active window.",
    evidence: cpu
      ? "idle time 6.0%."
      : "compute-bound ops 24.0%, exposed communication 9.0%, idle time 6.0%; over the active window 22.3% of peak FLOP/s and 78.7% of peak HBM bandwidth.",
    ceiling: "without it the window would be at most 2.56x shorter",
    lever: "fuse the layer norms; store activations in bf16",
    falsifier: "step time does not fall with a smaller batch",
    status: "derived",
  });
  const names = devices(run);
  const time = (share) => [active * share, share];
  const place = (where, ps, inside) => [where, ps, ps / span, inside ? ps / active : null];
  out.tables = [
    {
      id: "rates",
      title: "Rates: the whole capture beside the active window",
      columns: [
        column("over", "Over", "text"),
        column("time_ps", "Time", "duration_ps", "ps"),
        column("flop_rate", "FLOP rate", "rate", "FLOP/s"),
        column("flop_share_of_peak", "FLOP/s of peak", "share", "1"),
        column("hbm_rate", "HBM rate", "rate", "B/s"),
        column("hbm_share_of_peak", "HBM of peak", "share", "1"),
      ],
      rows: [
        ["active window (first op to last)", active, ...[2.05e14, 0.223, 1.29e12, 0.787].map(known)],
        ["whole capture", span, ...[2.05e14, 0.223, 1.29e12, 0.787].map((v) => known((v * active) / span))],
      ],
    },
    {
      id: "time",
      title: "Where the active window goes",
      columns: [
        column("class", "What the time goes to", "text"),
        column("time_ps", "Time", "duration_ps", "ps"),
        column("share", "Of active window", "share", "1"),
      ],
      rows: cpu
        ? [
            ["unknown", ...time(0.94)],
            ["idle", ...time(0.06)],
          ]
        : [
            ["memory", ...time(0.61)],
            ["compute", ...time(0.24)],
            ["communication", ...time(0.09)],
            ["idle", ...time(0.06)],
          ],
    },
    {
      id: "idle",
      title: "Where devices idle",
      columns: [
        column("where", "Where the device idles", "text"),
        column("time_ps", "Time", "duration_ps", "ps"),
        column("share_of_capture", "Of capture", "share", "1"),
        column("share_of_active_window", "Of active window", "share", "1"),
      ],
      rows: [
        place("outside the active window", span - active, false),
        place("between steps", active * 0.04, true),
        place("inside steps", active * 0.02, true),
      ],
    },
    {
      id: "top_ops",
      title: "Ops that take most time",
      columns: [
        column("name", "Op", "text"),
        column("category", "Category", "text"),
        column("self_ps", "Self time", "duration_ps", "ps"),
        column("self_share", "Share", "share", "1"),
      ],
      rows: ops(run)
        .slice(0, 10)
        .map((op) => [op[0], op[1], op[3], op[4]]),
    },
    {
      id: "devices",
      title: "Devices",
      columns: [
        column("device", "Device", "text"),
        column("busy_ps", "Busy", "duration_ps", "ps", "Time in which at least one op ran"),
        column("idle_share_of_active_window", "Idle, active", "share", "1"),
        column("idle_share_of_capture", "Idle, capture", "share", "1"),
        column("duty_cycle", "Duty cycle", "share", "1"),
        column("active_window_ps", "Active window", "duration_ps", "ps"),
        column("capture_span_ps", "Capture", "duration_ps", "ps"),
        column("host", "Host", "text"),
      ],
      rows: names.map((name, i) => {
        const own = busy * (1 - i * 0.006);
        return [name, own, 1 - own / active, 1 - own / span, known(0.93), active, span, "vm-0"];
      }),
    },
    {
      id: "precision",
      title: "Element types of ops that compute",
      columns: [
        column("type", "Type", "text"),
        column("self_ps", "Self time", "duration_ps", "ps"),
        column("share", "Share", "share", "1"),
      ],
      rows: [
        ["bf16", 210 * MS, 0.97],
        ["f32", 6.5 * MS, 0.03],
      ],
    },
    {
      id: "environment",
      title: "Run environment",
      columns: [column("fact", "Fact", "text"), column("value", "Value", "text")],
      rows: [
        ["hosts", "vm-0, vm-1"],
        ["devices", `${names.length} x ${cpu ? "CPU" : "TPU v6 Lite"}`],
        ["framework", "JAX 0.10.2"],
        ["libtpu", "0.0.52"],
      ],
    },
  ];
  out.quality = quality(run);
}

function quality(run) {
  const notes = [
    {
      id: "cut_steps",
      severity: "info",
      message: "2 steps are cut by the edges of the capture",
      cost: "They are left out of step times",
      cure: "Capture a few steps more than you need",
    },
  ];
  if (run === "cpu")
    notes.unshift({
      id: "no_peaks",
      severity: "warning",
      message: "The profile names no peak FLOP rate and no memory bandwidth",
      cost: "Shares of peak and the bound are unknown",
      cure: "Give them with --peak-flops and --peak-bandwidth",
    });
  if (run === "serving-v6e")
    notes.unshift({
      id: "truncated",
      severity: "error",
      message: "The trace stops at 1,000,000 events; the last 2.1 s have host events only",
      cost: "Device time after 2.7 s is not known",
      cure: "Capture for a shorter time, or with host_tracer_level=1",
    });
  return notes;
}

function steps(run, out) {
  const random = seeded(11);
  const names = devices(run);
  const rows = [];
  const byDevice = [];
  let at = 4 * MS;
  for (let step = 100; step < 120; step += 1) {
    const kind = step === 100 ? "warm-up" : step === 119 ? "edge" : step === 111 ? "outlier" : "steady";
    const base = kind === "warm-up" ? 31 : kind === "outlier" ? 26 : kind === "edge" ? 9 : 18.2;
    const times = names.map(() => Math.round((base + random()) * MS));
    const longest = Math.max(...times);
    times.forEach((time, i) => byDevice.push([step, names[i], time, Math.round(time * 0.94), at, at + time]));
    const spread = names.length > 1 ? longest - Math.min(...times) : null;
    rows.push([
      step,
      kind,
      longest,
      longest / (18.7 * MS) - 1,
      Math.round(longest * 0.06),
      spread,
      names[times.indexOf(longest)],
      at,
      "train",
    ]);
    at += longest + 0.3 * MS;
  }
  out.values = {
    step_count: value(18, "1", "measured"),
    step_time_mean_ps: value(18.74 * MS, "ps"),
    step_time_sd_ps: value(0.31 * MS, "ps"),
    step_time_min_ps: value(18.2 * MS, "ps"),
    step_time_p50_ps: value(18.71 * MS, "ps"),
    step_time_p90_ps: value(19.1 * MS, "ps"),
    step_time_max_ps: value(26.0 * MS, "ps"),
    jitter: value(0.0165, "1"),
    step_source: value("markers on the device's own line of steps", "", "measured"),
  };
  const time = (id, label) => column(id, label, "duration_ps", "ps");
  out.tables = [
    {
      id: "steps",
      title: "Steps",
      columns: [
        column("step", "Step", "int", "1"),
        column("class", "Class", "text", "", "steady, warm-up, edge or outlier"),
        time("duration_ps", "Time"),
        column("off_median", "Off median", "share", "1"),
        time("idle_ps", "Idle"),
        time("spread_ps", "Spread"),
        column("slowest_device", "Slowest device", "text"),
        time("start_ps", "Start"),
        column("name", "Name", "text"),
      ],
      rows,
    },
    {
      id: "devices",
      title: "Steps by device",
      columns: [
        column("step", "Step", "int", "1"),
        column("device", "Device", "text"),
        time("duration_ps", "Time"),
        time("busy_ps", "Busy"),
        time("start_ps", "Start"),
        time("end_ps", "End"),
      ],
      rows: byDevice,
    },
  ];
  out.quality = quality(run);
}

const CATEGORIES = ["convolution fusion", "loop fusion", "all-reduce", "data formatting", "custom-call", "reduce"];

/** op, category, module, self_ps, share, total_ps, occurrences, flops, bytes, flop_rate, byte_rate, intensity, bound, share of peak */
function ops(run) {
  const random = seeded(5);
  const count = run === "cpu" ? 60 : 4000;
  const rows = [];
  for (let i = 0; i < count; i += 1) {
    const category = CATEGORIES[Math.floor(random() * CATEGORIES.length)];
    const self = Math.round((60 * MS * (0.5 + random())) / (1 + i * 0.35) ** 1.15);
    const compute = category.includes("convolution");
    const none = category === "data formatting" || category === "custom-call" || run === "cpu";
    const intensity = none ? null : (compute ? 180 : 4) * (0.3 + random() * 3);
    const roof = intensity === null ? null : Math.min(9.18e14, 1.64e12 * intensity);
    const rate = roof === null ? null : roof * (0.15 + random() * 0.8);
    const flops = rate === null ? null : Math.round((rate * self) / 1e12);
    rows.push([
      `${category.split(" ")[0]}.${i}`,
      category,
      i % 5 === 0 ? "jit_eval_step" : "jit_train_step",
      self,
      0,
      Math.round(self * 1.1),
      20 + (i % 40),
      flops,
      flops === null ? null : Math.round(flops / intensity),
      rate,
      rate === null ? null : rate / intensity,
      intensity,
      rate === null ? null : intensity > 560 ? "compute" : "HBM",
      rate === null ? null : rate / 9.18e14,
    ]);
  }
  const total = rows.reduce((sum, row) => sum + row[3], 0);
  for (const row of rows) row[4] = row[3] / total;
  return rows.sort((a, b) => b[3] - a[3]);
}

const OP_COLUMNS = [
  column("name", "Name", "text", "", "Name of the HLO instruction"),
  column("category", "Category", "text"),
  column("module", "Module", "text"),
  column("self_ps", "Self time", "duration_ps", "ps", "Time in the op itself, without the ops inside it"),
  column("self_share", "Share of self time", "share", "1"),
  column("total_ps", "Total time", "duration_ps", "ps"),
  column("occurrences", "Times run", "int"),
  column("flops", "FLOPs", "int", "FLOP", "As XLA's cost model counts them"),
  column("bytes", "Bytes", "bytes", "B"),
  column("flop_rate", "FLOP rate", "rate", "FLOP/s"),
  column("byte_rate", "HBM rate", "rate", "B/s"),
  column("operational_intensity", "Intensity", "float", "FLOP/B"),
  column("bound_by", "Bound by", "text"),
  column("flop_share_of_peak", "Share of peak", "share", "1"),
];

function group(rows, key) {
  const groups = new Map();
  for (const row of rows) {
    const own = groups.get(row[key]) ?? [row[key], row[1], row[2], 0, 0, 0, 0, 0, 0, null, null, null, null, null];
    for (const i of [3, 4, 5, 6, 7, 8]) own[i] += row[i] ?? 0;
    groups.set(row[key], own);
  }
  for (const own of groups.values()) {
    if (own[7] > 0) {
      own[9] = (own[7] / own[3]) * 1e12;
      own[10] = (own[8] / own[3]) * 1e12;
      own[11] = own[7] / own[8];
      own[12] = own[11] > 560 ? "compute" : "HBM";
      own[13] = own[9] / 9.18e14;
    } else {
      own[7] = null;
      own[8] = null;
    }
  }
  return [...groups.values()].sort((a, b) => b[3] - a[3]);
}

function opsReport(run, query, out) {
  const by = query.get("by") ?? "op";
  const rows = by === "category" ? group(ops(run), 1) : by === "module" ? group(ops(run), 2) : ops(run);
  out.tables = [{ id: "ops", title: by === "op" ? "Operations" : `Operations by ${by}`, columns: OP_COLUMNS, rows }];
}

function roofline(run, out) {
  const cpu = run === "cpu";
  const rows = ops(run);
  out.values = {
    peak_flop_rate: value(cpu ? null : 9.18e14, "FLOP/s", "measured"),
    peak_hbm_rate: value(cpu ? null : 1.64e12, "B/s", "measured"),
    ridge_point: value(cpu ? null : 9.18e14 / 1.64e12, "FLOP/B"),
    operational_intensity: value(cpu ? null : 151, "FLOP/B"),
    compute_only_ps: value(cpu ? null : 81 * MS, "ps"),
    memory_only_ps: value(cpu ? null : 240 * MS, "ps"),
    gap_ps: value(cpu ? null : 61 * MS, "ps"),
    regime: value(cpu ? null : "memory", ""),
  };
  const table = (id, title, list) => ({
    id,
    title,
    columns: [...OP_COLUMNS, column("gap_ps", "Gap", "duration_ps", "ps", "Time above the roof")],
    rows: list.map((row) => [...row, row[9] === null ? null : Math.round(row[3] * 0.2)]),
  });
  out.tables = [
    table("programs", "Programs", group(rows, 2)),
    table("categories", "Categories", group(rows, 1)),
    table("ops", "Ops", rows.slice(0, 400)),
  ];
}

function inspect(run, out) {
  out.values = {
    host_count: value(2, "1", "measured"),
    plane_count: value(9, "1", "measured"),
    event_count: value(812_331, "1", "measured"),
    capture_span_ps: value(402 * MS, "ps", "measured"),
  };
  out.quality = quality(run);
  out.tables = [
    {
      id: "planes",
      title: "Planes",
      columns: [
        column("host", "Host", "text"),
        column("plane", "Plane", "text"),
        column("kind", "Kind", "text"),
        column("lines", "Lines", "int"),
        column("events", "Events", "int"),
        column("span_ps", "Span", "duration_ps", "ps"),
      ],
      rows: [
        ["vm-0", "/device:TPU:0", "device", 5, 203_000, 398 * MS],
        ["vm-0", "/host:CPU", "host", 31, 55_120, 402 * MS],
        ["vm-0", "/host:metadata", "metadata", 0, 0, null],
      ],
    },
    {
      id: "lines",
      title: "Lines",
      columns: [
        column("plane", "Plane", "text"),
        column("line", "Line", "text"),
        column("events", "Events", "int"),
        column("span_ps", "Span", "duration_ps", "ps"),
      ],
      rows: Array.from({ length: 40 }, (_, i) => [i < 5 ? "/device:TPU:0" : "/host:CPU", `line ${i}`, 1000 * (i + 1), (400 - i) * MS]),
    },
    {
      id: "modules",
      title: "HLO modules",
      columns: [
        column("module", "Module", "text"),
        column("program", "Program id", "text"),
        column("instructions", "Instructions", "int"),
        column("has_hlo", "HLO recorded", "flag"),
      ],
      rows: [
        ["jit_train_step", "1234", 5120, true],
        ["jit_eval_step", "77", 2200, false],
      ],
    },
    {
      id: "stats",
      title: "Stats seen",
      columns: [
        column("stat", "Stat", "text"),
        column("type", "Type", "text"),
        column("uses", "Uses", "int"),
        column("example", "Example", "text"),
      ],
      rows: [
        ["flops", "u64", 203_000, "2147483648"],
        ["tf_op", "ref", 203_000, "jit(train_step)/dot_general"],
      ],
    },
  ];
}

const FAMILIES = {
  diagnose: diagnosis,
  "critical-path": criticalPath,
  "memory-peak": peak,
  "memory-attribute": attribute,
  "memory-diagnose": diagnose,
  "memory-profile": profile,
  "hlo-modules": modules,
  "hlo-text": hloText,
  "hlo-graph": graph,
  "hlo-search": search,
  "hlo-counters": counters,
  "hlo-fusions": counters,
  "hlo-diff": counters,
  compare,
  check,
  "op-profile": opProfile,
};

export function report(analysis, run, query) {
  const out = shell(analysis, run, query);
  switch (analysis) {
    case "overview":
      overview(run, out);
      break;
    case "steps":
      steps(run, out);
      break;
    case "ops":
      opsReport(run, query, out);
      break;
    case "roofline":
      roofline(run, out);
      break;
    case "inspect":
      inspect(run, out);
      break;
    default: {
      const answer = FAMILIES[analysis];
      if (answer === undefined) return null;
      answer(out, query);
    }
  }
  return out;
}
