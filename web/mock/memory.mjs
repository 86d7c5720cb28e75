// Answers of the `memory` family about the made-up program.
import { MODULES, program } from "./hlo.mjs";
import { column, value } from "./parts.mjs";
import { seeded } from "./random.mjs";

const MIB = 2 ** 20;

/** Buffers with their lifetimes by heap event, placed first fit. */
const buffers = (() => {
  const random = seeded(3);
  const temporary = program.filter((one) => one.opcode !== "parameter" && one.computation === "main.1");
  const events = temporary.length * 2;
  const list = temporary.map((one, i) => {
    const from = Math.min(events - 2, i * 2);
    const until = Math.min(events - 1, from + 2 + Math.floor(random() * random() * events * 0.5));
    const bytes = Math.round((one.name === "dot.99" ? 2000 : 16 + random() * 48) * MIB);
    return { one, from, until, bytes, offset: 0 };
  });
  const placed = [];
  for (const buffer of [...list].sort((a, b) => b.bytes - a.bytes)) {
    const near = placed.filter((other) => other.from < buffer.until && buffer.from < other.until).sort((a, b) => a.offset - b.offset);
    for (const other of near)
      if (other.offset < buffer.offset + buffer.bytes) buffer.offset = Math.max(buffer.offset, other.offset + other.bytes);
    placed.push(buffer);
  }
  return { list, events };
})();

const lasting = program
  .filter((one) => one.opcode === "parameter" && one.computation === "main.1")
  .map((one) => ({ one, bytes: (one.name === "embed" ? 62.5 : 18) * MIB }));
const LASTING = lasting.reduce((sum, one) => sum + one.bytes, 0);
const live = Array.from({ length: buffers.events }, (_, event) =>
  buffers.list.reduce((sum, one) => sum + (one.from <= event && event < one.until ? one.bytes : 0), LASTING),
);
const PEAK = Math.max(...live);
const PEAK_EVENT = live.indexOf(PEAK);
const alive = [
  ...lasting.map(({ one, bytes }) => ({ one, bytes, group: "Parameter" })),
  ...buffers.list
    .filter((one) => one.from <= PEAK_EVENT && PEAK_EVENT < one.until)
    .map(({ one, bytes }) => ({ one, bytes, group: "Temporary" })),
].sort((a, b) => b.bytes - a.bytes);

const bucketOf = ({ one, group }) =>
  group === "Parameter"
    ? "model parameters"
    : one.name === "dot.99"
      ? "logits"
      : one.name.startsWith("custom-call")
        ? "attention"
        : "activations (guess)";

function by(id, title, nameOf) {
  const sums = new Map();
  for (const row of alive) sums.set(nameOf(row), (sums.get(nameOf(row)) ?? 0) + row.bytes);
  return {
    id,
    title,
    columns: [column("name", "Name", "text"), column("bytes", "Bytes", "bytes", "B"), column("share", "Share", "share", "1")],
    rows: [...sums].sort((a, b) => b[1] - a[1]).map(([name, bytes]) => [name || null, bytes, bytes / PEAK]),
  };
}

export function peak(out, query) {
  const eval_ = query.get("module") === MODULES[1];
  out.values = {
    program: value(eval_ ? MODULES[1] : MODULES[0], ""),
    space: value("hbm", ""),
    peak_bytes: value(PEAK, "B"),
    peak_unpadded_bytes: value(Math.round(PEAK * 0.96), "B"),
    lasting_bytes: value(LASTING, "B"),
    temporary_bytes: value(PEAK - LASTING, "B"),
    peak_event: value(PEAK_EVENT, "1"),
    peak_instruction: value("dot.99", ""),
    headroom_bytes: value(null, "B"),
  };
  out.tables = [
    {
      id: "buffers",
      title: "Buffers alive at the peak",
      columns: [
        column("instruction", "Instruction", "text"),
        column("bytes", "Bytes", "bytes", "B"),
        column("share", "Share", "share", "1"),
        column("padding_bytes", "Padding", "bytes", "B"),
        column("shape", "Shape", "text"),
        column("group", "Group", "text"),
        column("opcode", "Opcode", "text"),
        column("op_name", "Op name", "text"),
        column("layer", "Layer", "text"),
        column("source", "Source", "text"),
      ],
      rows: alive.map(({ one, bytes, group }) => [
        one.name,
        bytes,
        bytes / PEAK,
        Math.round(bytes * 0.04),
        one.shape,
        group,
        one.opcode,
        one.op_name || null,
        one.layer || null,
        one.opcode === "parameter" ? null : `model.py:${one.name.length * 7}`,
      ]),
    },
    by("by_group", "At the peak, by group", (row) => row.group),
    by("by_layer", "At the peak, by layer", (row) => row.one.layer),
    by("by_scope", "At the peak, by scope", (row) =>
      row.one.op_name
        .replace(/^jit\(\w+\)\//, "")
        .split("/")
        .slice(0, -1)
        .join("/"),
    ),
    by("by_opcode", "At the peak, by opcode", (row) => row.one.opcode),
    {
      id: "programs",
      title: "Programs by peak",
      columns: [
        column("program", "Program", "text"),
        column("host", "Host", "text"),
        column("is_shown", "Shown", "flag"),
        column("peak_bytes", "Peak", "bytes", "B"),
      ],
      rows: [
        [MODULES[0], "vm-0", !eval_, PEAK],
        [MODULES[1], "vm-0", eval_, 410 * MIB],
      ],
    },
    {
      id: "spaces",
      title: "Memories of the program",
      columns: [column("space", "Memory", "text"), column("number", "Number", "int"), column("peak_bytes", "Peak", "bytes", "B")],
      rows: [
        ["hbm", 0, PEAK],
        ["vmem", 1, 48 * MIB],
      ],
    },
    {
      id: "identities",
      title: "Do the parts sum to the peak?",
      columns: [
        column("identity", "Identity", "text"),
        column("parts_bytes", "Parts", "bytes", "B"),
        column("whole_bytes", "Whole", "bytes", "B"),
        column("holds", "Holds", "flag"),
      ],
      rows: [["buffers alive at the peak sum to the peak", PEAK, PEAK, true]],
    },
    {
      id: "allocations",
      title: "Temporary buffers by address and time",
      columns: [
        column("instruction", "Instruction", "text"),
        column("offset_bytes", "Offset", "bytes", "B"),
        column("bytes", "Bytes", "bytes", "B"),
        column("from_event", "From", "int", "1"),
        column("until_event", "Until", "int", "1"),
        column("from", "At", "text"),
      ],
      rows: buffers.list.map(({ one, offset, bytes, from, until }) => [one.name, offset, bytes, from, until, one.name]),
    },
  ];
  const curve = (id, title, scale) => ({
    id,
    title,
    x: { label: "Heap event", unit: "1" },
    y: { label: "Live bytes", unit: "B" },
    points: live.map((bytes, event) => [event, Math.round(bytes * scale)]),
  });
  out.series = [curve("live", "Live bytes", 1), curve("live_unpadded", "Live bytes, temporary buffers without padding", 0.96)];
}

export function attribute(out) {
  const sums = new Map();
  for (const row of alive) sums.set(bucketOf(row), (sums.get(bucketOf(row)) ?? 0) + row.bytes);
  out.values = {
    module: value(MODULES[0], "", "measured"),
    peak_bytes: value(PEAK, "B"),
    model_parameters_bytes: value(LASTING, "B"),
    kv_cache_bytes: value(0, "B"),
  };
  out.tables = [
    {
      id: "workers",
      title: "Memory at the peak, by worker",
      columns: [
        column("host", "Host", "text"),
        column("device", "Device", "text"),
        column("peak_bytes", "Peak", "bytes", "B"),
        column("model_parameters_bytes", "Model parameters", "bytes", "B"),
      ],
      rows: [0, 1, 2, 3].map((i) => [`vm-${i >> 1}`, `TPU:${i}`, PEAK, LASTING]),
    },
    {
      id: "summary",
      title: "Over the workers",
      columns: [
        column("what", "What", "text"),
        column("min_bytes", "Least", "bytes", "B"),
        column("mean_bytes", "Mean", "bytes", "B"),
        column("max_bytes", "Most", "bytes", "B"),
      ],
      rows: [["Peak", PEAK, PEAK, PEAK]],
    },
    {
      id: "buckets",
      title: "Whose memory it is",
      columns: [column("bucket", "Bucket", "text"), column("bytes", "Bytes", "bytes", "B"), column("share", "Share", "share", "1")],
      rows: [...sums].map(([name, bytes]) => [name, bytes, bytes / PEAK]),
    },
    {
      id: "identities",
      title: "Sums that must agree",
      columns: [
        column("what", "What", "text"),
        column("left_bytes", "One way", "bytes", "B"),
        column("right_bytes", "Other way", "bytes", "B"),
        column("difference_bytes", "Difference", "bytes", "B"),
        column("holds", "Holds", "flag"),
      ],
      rows: [
        ["groups sum to the peak", PEAK, PEAK, 0, true],
        ["parameter rows sum to the entry parameters", LASTING - 512, LASTING, -512, false],
      ],
    },
    {
      id: "buffers",
      title: "What is alive at the peak",
      columns: [
        column("instruction", "Instruction", "text"),
        column("bytes", "Bytes", "bytes", "B"),
        column("bucket", "Bucket", "text"),
        column("group", "Group", "text"),
        column("rule", "Rule", "text"),
      ],
      rows: alive.map((row) => [row.one.name, row.bytes, bucketOf(row), row.group, "params"]),
    },
  ];
}

export function diagnose(out) {
  const finding = (id, severity, claim, lever) => ({
    id,
    severity,
    claim,
    evidence: "`dot.99` makes 1.95 GiB of f32[8,2048,32000].",
    ceiling: "1.9 GiB",
    lever,
    falsifier: "the peak stays where it is",
    status: "derived",
  });
  out.findings = [
    finding(
      "large_logits",
      "warning",
      "Logits of the whole vocabulary take 1.95 GiB at the peak.",
      "compute the loss over chunks of the sequence",
    ),
    finding("padding", "info", "Padding takes 96 MiB at the peak.", "make the last dimension a multiple of 128"),
    finding("long_lived", "info", "3 temporaries live for over half of the schedule.", "rematerialise them"),
  ];
  out.tables = [
    {
      id: "checks",
      title: "What was checked",
      columns: [column("rule", "Rule", "text"), column("verdict", "Verdict", "text"), column("bytes", "Bytes", "bytes", "B")],
      rows: [
        ["large logits", "found", 2000 * MIB],
        ["f32 optimiser state", "does not apply", null],
      ],
    },
  ];
}

export function profile(out) {
  const random = seeded(9);
  const points = Array.from({ length: 300 }, (_, i) => [i * 1e9, Math.round((900 + 400 * Math.sin(i / 9) + random() * 90) * MIB)]);
  out.values = { peak_bytes: value(Math.max(...points.map((point) => point[1])), "B", "measured") };
  const curve = (id, label, host, scale, unit = "B") => ({
    id: `${id}:${host}`,
    title: `${label}, ${host}`,
    x: { label: "Time", unit: "ps" },
    y: { label, unit },
    points: points.map(([at, bytes]) => [at, unit === "B" ? Math.round(bytes * scale) : scale]),
  });
  out.series = ["vm-0/TPU_0", "vm-0/TPU_1"].flatMap((host) => [
    curve("allocated", "Allocated", host, 1),
    curve("reserved", "Reserved", host, 1.2),
    curve("fragmentation", "Fragmentation", host, 0.1, "1"),
  ]);
}
