// Made-up tracks: device steps, modules and ops, and a nested host thread.
import { seeded } from "./random.mjs";

const MS = 1e9;
const KINDS = { Steps: "steps", "XLA Modules": "modules", "XLA Ops": "ops", "Async XLA Ops": "async" };
const OPS = ["fusion", "convolution", "all-reduce", "copy", "dot", "transpose", "reduce-window", "custom-call", "dynamic-update-slice"];

function deviceTracks(seed, gap) {
  const random = seeded(seed);
  const steps = [];
  const modules = [];
  const ops = [];
  let at = 4 * MS;
  for (let step = 0; step < 20; step += 1) {
    const length = (step === 0 ? 31 : 18 + random() * 1.5) * MS;
    steps.push([at, length, 0, `${step}`]);
    modules.push([at + 0.4 * MS, length - 0.8 * MS, 0, "jit_train_step(1234)"]);
    let inside = at + 0.5 * MS;
    while (inside < at + length - 0.6 * MS) {
      const kind = OPS[Math.floor(random() * OPS.length)];
      const long = (0.004 + random() ** 4 * 0.9) * MS;
      if (random() < 0.06) {
        const body = long * 3;
        ops.push([inside, body, 0, `while.${Math.floor(random() * 4)}`]);
        for (let i = 0; i < 6; i += 1) ops.push([inside + (body / 6) * i, body / 6.4, 1, `${kind}.${i}`]);
        inside += body;
      } else {
        ops.push([inside, long, 0, `${kind}.${Math.floor(random() * 40)}`]);
        inside += long;
      }
      inside += random() * 0.01 * MS;
    }
    at += length + (gap + random() * 0.6) * MS;
  }
  return [
    ["Steps", steps],
    ["XLA Modules", modules],
    ["XLA Ops", ops],
    ["Async XLA Ops", ops.filter((_, i) => i % 5 === 0).map(([at, length]) => [at, length * 2.5, 0, "copy-start"])],
  ];
}

function hostTracks(seed) {
  const random = seeded(seed);
  const python = [];
  const nest = (start, length, depth) => {
    python.push([
      start,
      length,
      depth,
      ["train_loop", "next_batch", "dispatch", "block_until_ready", "device_put"][Math.floor(random() * 5)],
    ]);
    if (depth >= 4 || length < 0.2 * MS) return;
    let at = start + length * 0.03;
    while (at < start + length * 0.9) {
      const part = Math.min(length * (0.1 + random() * 0.3), start + length - at);
      nest(at, part, depth + 1);
      at += part * 1.1;
    }
  };
  for (let i = 0; i < 20; i += 1) nest((4 + i * 19.6) * MS, 19 * MS, 0);
  return [
    ["python main", python],
    ["tf_XLATfrtCpuClient/1", python.filter((_, i) => i % 7 === 0).map(([s, d, , n]) => [s, d, 0, n])],
  ];
}

function build(run) {
  const diluted = run === "serving-v6e";
  const groups = [];
  const lines = new Map();
  const add = (id, host, name, kind, list) => {
    groups.push({
      id,
      name: `${host}/${name}`,
      kind,
      host,
      device: kind === "device" ? name : null,
      tracks: list.map(([title, events]) => {
        const track = lines.size + 1;
        lines.set(track, events);
        const depth = Math.max(...events.map((event) => event[2])) + 1;
        return { id: track, name: title, events: events.length, depth, kind: KINDS[title] ?? "thread", nests: depth > 1, counter: false };
      }),
    });
  };
  for (let i = 0; i < 4; i += 1) add(`tpu${i}`, `vm-${i >> 1}`, `TPU:${i}`, "device", deviceTracks(7 + i, diluted ? 40 : 0.3));
  const counter = { id: 900, name: "HBM in use", events: 200, depth: 1, kind: "counters", nests: false, counter: true };
  groups[0].tracks.push(counter);
  for (let i = 0; i < 2; i += 1) add(`host${i}`, `vm-${i}`, "host:CPU", "host", hostTracks(3 + i));
  const end = Math.max(...[...lines.values()].flat().map((event) => event[0] + event[1])) + 3 * MS;
  return { groups, lines, end };
}

const built = new Map();
export function of(run) {
  if (!built.has(run)) built.set(run, build(run));
  return built.get(run);
}

export function tracks(run) {
  const { groups, end } = of(run);
  return { start_ps: 0, end_ps: end, groups, hosts: ["vm-0", "vm-1"] };
}

export function timelineWindow(run, start, end, px, ids) {
  const { lines } = of(run);
  const names = [];
  const index = new Map();
  const nameOf = (name) => {
    if (!index.has(name)) index.set(name, names.push(name) - 1);
    return index.get(name);
  };
  const smallest = (end - start) / px;
  const out = ids
    .filter((id) => lines.has(id))
    .map((id) => {
      const slices = [];
      const open = new Map();
      lines.get(id).forEach(([at, length, depth, name], event) => {
        if (at + length < start || at > end) return;
        if (length >= smallest) return slices.push([Math.floor(at), Math.floor(length), depth, nameOf(name), 1, event]);
        const last = open.get(depth);
        if (last !== undefined && at - (last[0] + last[1]) < smallest) {
          last[1] = Math.floor(at + length) - last[0];
          last[4] += 1;
          last[5] = -1;
        } else {
          const slice = [Math.floor(at), Math.floor(length), depth, nameOf(name), 1, event];
          open.set(depth, slice);
          slices.push(slice);
        }
      });
      return { id, slices };
    });
  return { tracks: out, names };
}

export function eventDetails(run, track, event) {
  const [start, length, , name] = of(run).lines.get(track)[event];
  return {
    name,
    start_ps: Math.floor(start),
    duration_ps: Math.floor(length),
    self_ps: Math.floor(length * 0.8),
    category: name.split(".")[0],
    module: "jit_train_step",
    instruction: name,
    op_name: "jit(train_step)/dot_general",
    flops: 2147483648,
    bytes: 50331648,
    flop_rate: 2147483648 / (length / 1e12),
    byte_rate: 50331648 / (length / 1e12),
    flop_share: 0.41,
    byte_share: 0.12,
    bound_by: "compute",
    source: [
      { file: "model.py", line: 212, function: "attention" },
      { file: "train.py", line: 40, function: "step" },
    ],
    step: 3,
    peaks: { flops: 197e12, hbm: 819e9, source: "table" },
    stats: [
      { name: "hlo_category", value: name.split(".")[0], unit: "" },
      { name: "flops", value: 2147483648, unit: "FLOP" },
      { name: "bytes_accessed", value: 50331648, unit: "B" },
      { name: "tf_op", value: "jit(train_step)/transpose(jvp(Transformer))/layers_3/attention/dot_general", unit: "" },
      { name: "source", value: "model.py:212", unit: "" },
    ],
  };
}
