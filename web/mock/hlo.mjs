// A made-up program of twelve layers, and the answers of the `hlo` family about it.
import { column, value } from "./parts.mjs";

const US = 1e6;
const LAYERS = 12;
export const MODULES = ["jit_train_step(1234)", "jit_eval_step(77)"];

/** Instructions of the program in the order of its text. */
export const program = (() => {
  const all = [];
  const add = (name, opcode, shape, operands, more = {}) => {
    all.push({
      name,
      opcode,
      shape,
      operands,
      computation: "main.1",
      caller: "",
      layer: "",
      op_name: "",
      time: null,
      flops: null,
      bytes: null,
      ...more,
    });
    return name;
  };
  let x = add("tokens", "parameter", "s32[8,2048]", [], { op_name: "tokens" });
  const table = add("embed", "parameter", "bf16[32000,1024]{1,0:T(8,128)(2,1)}", [], { op_name: "params['embed']" });
  x = add("gather.1", "gather", "bf16[8,2048,1024]", [table, x], { op_name: "jit(step)/model/embed/gather", time: 90 * US, bytes: 6.7e7 });
  for (let i = 0; i < LAYERS; i += 1) {
    const scope = `jit(step)/model/layers_${i}`;
    const own = (op, more) => ({ layer: `layer ${i}`, op_name: `${scope}/${op}`, ...more });
    const w = add(`wqkv.${i}`, "parameter", "bf16[1024,3072]{1,0:T(8,128)(2,1)}", [], own("wqkv"));
    const inner = own("norm/mul", { computation: `fused_computation.${i}`, caller: `norm_fusion.${i}` });
    const p = add(`param_0.${i}`, "parameter", "bf16[8,2048,1024]", [x], inner);
    const square = add(`square.${i}`, "multiply", "f32[8,2048,1024]", [p, p], { ...inner, flops: 1.6e7 });
    const sum = add(`reduce.${i}`, "reduce", "f32[8,2048]", [square], { ...inner, flops: 1.6e7 });
    const norm = add(
      `norm_fusion.${i}`,
      "fusion",
      "bf16[8,2048,1024]",
      [x, sum],
      own("norm/mul", { time: 42 * US, flops: 3.2e7, bytes: 1.0e8 }),
    );
    const qkv = add(
      `dot.${3 * i}`,
      "convolution",
      "bf16[8,2048,3072]",
      [norm, w],
      own("attn/qkv/dot_general", { time: (210 + i) * US, flops: 1.03e11, bytes: 1.4e8 }),
    );
    const attention = add(
      `custom-call.${i}`,
      "custom-call",
      "bf16[8,2048,1024]",
      [qkv],
      own("attn/flash", { time: 380 * US, flops: null, bytes: 1.3e8 }),
    );
    const out = add(
      `dot.${3 * i + 1}`,
      "convolution",
      "bf16[8,2048,1024]",
      [attention],
      own("attn/out/dot_general", { time: 80 * US, flops: 3.4e10, bytes: 7e7 }),
    );
    const mlp = add(
      `dot.${3 * i + 2}`,
      "convolution",
      "bf16[8,2048,4096]",
      [out],
      own("mlp/dot_general", { time: 290 * US, flops: 1.37e11, bytes: 1.7e8 }),
    );
    x = add(`add_fusion.${i}`, "fusion", "bf16[8,2048,1024]", [x, mlp], own("add", { time: 31 * US, flops: 1.6e7, bytes: 1.0e8 }));
  }
  const logits = add("dot.99", "convolution", "f32[8,2048,32000]", [x, table], {
    op_name: "jit(step)/model/logits/dot_general",
    time: 1200 * US,
    flops: 1.07e12,
    bytes: 2.2e9,
  });
  const loss = add("reduce_fusion.1", "fusion", "f32[]", [logits], {
    op_name: "jit(step)/loss/log_softmax",
    time: 700 * US,
    flops: 1.5e9,
    bytes: 2.1e9,
  });
  add("tuple.1", "tuple", "(f32[])", [loss]);
  return all;
})();

const byName = new Map(program.map((one) => [one.name, one]));
const users = new Map(program.map((one) => [one.name, []]));
for (const one of program) for (const operand of one.operands) users.get(operand).push(one.name);

/** Names at most `radius` steps away, with the steps. */
function around(centre, radius, direction) {
  const distances = new Map([[centre, 0]]);
  const queue = [centre];
  for (const name of queue) {
    const distance = distances.get(name);
    if (distance === radius) continue;
    const next = [...(direction === "users" ? [] : byName.get(name).operands), ...(direction === "operands" ? [] : users.get(name))];
    for (const one of next) {
      if (distances.has(one)) continue;
      distances.set(one, distance + 1);
      queue.push(one);
    }
  }
  return distances;
}

/** The shortest way, either direction. */
function pathTo(from, to) {
  const before = new Map([[from, null]]);
  const queue = [from];
  for (const name of queue) {
    if (name === to) break;
    for (const one of [...byName.get(name).operands, ...users.get(name)]) {
      if (before.has(one)) continue;
      before.set(one, name);
      queue.push(one);
    }
  }
  const path = [];
  for (let at = before.has(to) ? to : null; at !== null; at = before.get(at)) path.unshift(at);
  return path;
}

const text = (one) =>
  `  ${one.name === "tuple.1" ? "ROOT " : ""}%${one.name} = ${one.shape} ${one.opcode}(${one.operands.map((name) => `%${name}`).join(", ")})${
    one.opcode === "fusion" ? `, kind=kLoop, calls=%fused_computation.${one.name.split(".")[1]}` : ""
  }${one.op_name === "" ? "" : `, metadata={op_name="${one.op_name}"}`}`;

export function graph(out, query) {
  const centre = byName.has(query.get("node")) ? query.get("node") : "dot.99";
  const to = query.get("to") ?? "";
  const path = to === "" ? [] : pathTo(centre, to);
  // A report about a path holds nothing else.
  const distances =
    to === ""
      ? around(centre, Number(query.get("radius") ?? 3), query.get("direction") ?? "both")
      : new Map(path.map((name, i) => [name, i]));
  const nodes = program.filter((one) => distances.has(one.name));
  out.values = {
    module: value(query.get("module") ?? MODULES[0], "", "measured"),
    node: value(centre, "", "measured"),
    nodes: value(nodes.length, "1", "measured"),
    path_steps: value(path.length === 0 ? null : path.length - 1, "1"),
  };
  out.tables = [
    {
      id: "nodes",
      title: "Instructions",
      columns: [
        column("name", "Name", "text"),
        column("opcode", "Opcode", "text"),
        column("shape", "Shape", "text"),
        column("computation", "Computation", "text"),
        column("parent", "Inside of", "text"),
        column("distance", "Steps", "int"),
        column("layer", "Layer", "text"),
        column("self_ps", "Self time", "duration_ps", "ps"),
        column("flops", "FLOPs", "float", "FLOP"),
        column("bytes", "Bytes", "bytes", "B"),
        column("op_name", "Framework op", "text"),
      ],
      rows: nodes.map((one) => [
        one.name,
        one.opcode,
        one.shape,
        one.computation,
        one.caller || null,
        distances.get(one.name),
        one.layer || null,
        one.time,
        one.flops,
        one.bytes,
        one.op_name || null,
      ]),
    },
    {
      id: "edges",
      title: "Edges",
      columns: [column("from", "From", "text"), column("to", "To", "text"), column("kind", "Kind", "text")],
      rows: nodes.flatMap((one) => one.operands.filter((name) => distances.has(name)).map((name) => [name, one.name, "data"])),
    },
  ];
}

export function hloText(out, query) {
  const computation = query.get("computation") ?? "";
  const kept = program.filter((one) => computation === "" || one.computation === computation);
  const head = computation === "" ? "ENTRY %main.1 (tokens: s32[8,2048]) -> (f32[]) {" : `%${computation} {`;
  out.texts = [
    { id: "hlo", title: computation === "" ? "module" : `computation ${computation}`, text: `${head}\n${kept.map(text).join("\n")}\n}\n` },
  ];
}

export function search(out, query) {
  const words = (query.get("query") ?? "").toLowerCase();
  const found = program.filter((one) => `${one.name} ${one.opcode} ${one.op_name}`.toLowerCase().includes(words));
  out.tables = [
    {
      id: "instructions",
      title: "Instructions, the largest results first",
      columns: [
        column("name", "Name", "text"),
        column("opcode", "Opcode", "text"),
        column("shape", "Shape", "text"),
        column("module", "Module", "text"),
        column("op_name", "Framework op", "text"),
      ],
      rows: found.map((one) => [one.name, one.opcode, one.shape, MODULES[0], one.op_name || null]),
    },
  ];
}

export function modules(out) {
  out.tables = [
    {
      id: "modules",
      title: "HLO modules",
      columns: [
        column("module", "Module", "text"),
        column("instructions", "Instructions", "int"),
        column("time_ps", "Time", "duration_ps", "ps"),
      ],
      rows: [
        [MODULES[0], program.length, 21_000 * US],
        [MODULES[1], 40, 900 * US],
      ],
    },
  ];
}

export function counters(out, query) {
  const counts = new Map();
  for (const one of program) counts.set(one.opcode, (counts.get(one.opcode) ?? 0) + 1);
  const expected = query.get("expect-dot");
  out.passed = expected === null ? null : Number(expected) === 37;
  out.tables = [
    {
      id: "opcodes",
      title: "By opcode",
      columns: [column("opcode", "Opcode", "text"), column("count", "Instructions", "int")],
      rows: [...counts].sort((a, b) => b[1] - a[1]),
    },
  ];
}
