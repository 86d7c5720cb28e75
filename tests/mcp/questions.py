"""Questions about runs, with known answers. Each says which tools are called, with what, and where in their structured answers
the answer stands. What is right comes from the `truth.json` beside a run, which is written by what made the run."""
import dataclasses
import typing

MS = 1e9  # picoseconds
GIB = 2**30


@dataclasses.dataclass(frozen=True)
class Question:
    name: str
    text: str
    # Tool and arguments, at most three.
    calls: list
    # From the structured answers to the answer.
    find: typing.Callable
    # From the truths of all runs, by name, to the right answer.
    right: typing.Callable
    # By which part of it a number may differ.
    within: float = 0.0
    # What has to be there for it, beside the runs.
    needs: str = ""


def value(answer, name):
    """A headline value; None where the answer says that it is unknown, an error where it does not mention it."""
    if name in answer.get("unknown", []):
        return None
    return answer["values"][name]["value"]


def rows(answer, table):
    """The rows of a table as dictionaries."""
    found = next(t for t in answer["tables"] if t["id"] == table)
    return [dict(zip([c["id"] for c in found["columns"]], row)) for row in found["rows"]]


def report(run, analysis, **more):
    return ("report", {"run": run, "analysis": analysis, **more})


def ran(name):
    """The id of the only session in a log folder."""
    return f"{name}/run"


def intensity(truth):
    return truth["per_device"]["flops_total"] / truth["per_device"]["hbm_bytes_total"]


def straggler_cost(truth):
    """Slowed chips work 1.35 times as long, and the others wait for them: the share of a step that this takes."""
    slow, chips = truth["straggler"]["compute_slowdown"], len(truth["hosts"]) * truth["chips_per_host"]
    slow_chips = truth["chips_per_host"]
    compute = sum(step["compute_ms_mean"] for step in truth["per_step"]) / truth["steps"]
    usual = compute * chips / (chips - slow_chips + slow_chips * slow)
    return usual * (slow - 1) / truth["step_time_ms"]["mean"]


def kv_cache(truth):
    """Keys and values of every layer, of every position, in two bytes, of the heads that one chip holds."""
    p = truth["models"]["p2"]["params"]
    heads = p["kv_heads"] / p["tp"]
    return 2 * p["layers"] * p["batch"] * p["ctx"] * heads * (p["d"] // p["heads"]) * 2


def slowest_op(truth):
    return next(iter(truth["regression"]["slower_ops"].items()))


DENSE, SLOWER, MOE = ran("dense_train_v5e16"), ran("dense_train_v5e16_regressed"), ran("moe_v5p4")
DECODE, INPUT, STRAGGLER = ran("decode_v5e4"), ran("input_bound_v6e4"), ran("straggler_v6e32")
SMALL, LARGE = ran("pallas_attn_A_bq128"), ran("pallas_attn_B_bq512")

COMPARE = "compare"

# About the runs under ../shared/traces/forged.
FORGED = [
    Question("hosts", "Which hosts took part?", [("xprof_hosts", {"run": STRAGGLER})],
             lambda a: sorted(host["hostname"] for host in a[0]["hosts"]), lambda t: sorted(t["straggler_v6e32"]["hosts"])),
    Question("straggler", "Which host makes the others wait?", [report(STRAGGLER, "hosts")],
             lambda a: value(a[0], "straggler"), lambda t: t["straggler_v6e32"]["straggler"]["host"]),
    Question("straggler-cost", "Which share of a step does the slow host cost?", [report(STRAGGLER, "hosts")],
             lambda a: value(a[0], "straggler_cost_share"), lambda t: straggler_cost(t["straggler_v6e32"]), 0.01),
    Question("no-straggler", "Is there a slow host in the dense run?", [report(DENSE, "hosts")],
             lambda a: value(a[0], "straggler"), lambda t: t["dense_train_v5e16"]["straggler"]),
    Question("input-bound", "What should be fixed first in the run that waits for input?", [("diagnose", {"run": INPUT})],
             lambda a: value(a[0], "first_cause") == "input_bound", lambda t: t["input_bound_v6e4"]["input_bound"]),
    Question("not-input-bound", "Does the dense run wait for input?", [report(DENSE, "input")],
             lambda a: value(a[0], "verdict") == "input-bound", lambda t: t["dense_train_v5e16"]["input_bound"]),
    Question("idle-of-input", "How much of the time between first and last op do the devices idle that wait for input?",
             [report(INPUT, "idle")], lambda a: value(a[0], "idle_share_of_active_window"),
             lambda t: t["input_bound_v6e4"]["idle"]["between_first_and_last_op"], 0.005),
    Question("idle-of-decode", "How much of the capture is idle in the decode run?", [("xprof_overview", {"run": DECODE})],
             lambda a: a[0]["haloscope"]["idle_share_of_capture"]["value"], lambda t: t["decode_v5e4"]["idle"]["of_profile_window"], 0.001),
    Question("step-time", "How long is a step?", [("xprof_overview", {"run": DENSE})],
             lambda a: a[0]["haloscope"]["step_time_mean_ps"]["value"] / MS, lambda t: t["dense_train_v5e16"]["step_time_ms"]["mean"], 0.002),
    Question("slow-step", "Which step is slower than the others?",
             [("query", {"run": DENSE, "analysis": "steps", "table": "steps", "sort": "-duration_ps", "limit": 1})],
             lambda a: [str(row["step"]) for row in rows(a[0], "steps")], lambda t: list(t["dense_train_v5e16"]["slow_steps"])),
    Question("mfu", "What is the MFU?", [("xprof_overview", {"run": DENSE})],
             lambda a: a[0]["haloscope"]["flop_share_of_peak"]["value"], lambda t: t["dense_train_v5e16"]["model_flops_utilisation"], 0.002),
    Question("exposed-communication", "How much communication of a step is not hidden?", [("comm", {"run": DENSE})],
             lambda a: value(a[0], "exposed_ps_per_step") / MS, lambda t: t["dense_train_v5e16"]["exposed_communication_ms_per_step"], 0.01),
    Question("no-communication", "How much communication is exposed on a single chip?", [("comm", {"run": SMALL})],
             lambda a: value(a[0], "exposed_ps_per_step"), lambda t: t["pallas_attn_A_bq128"]["exposed_communication_ms_per_step"]),
    Question("moe-communication", "And in the mixture of experts?", [("comm", {"run": MOE})],
             lambda a: value(a[0], "exposed_ps_per_step") / MS, lambda t: t["moe_v5p4"]["exposed_communication_ms_per_step"], 0.01),
    Question("kv-cache", "How large is the KV cache on a chip?",
             [("query", {"run": DECODE, "analysis": "memory-attribute", "table": "workers", "columns": "device,kv_cache_bytes"})],
             lambda a: [row["kv_cache_bytes"] for row in rows(a[0], "workers")],
             lambda t: [kv_cache(t["decode_v5e4"])] * t["decode_v5e4"]["chips_profiled_per_host"]),
    Question("peak-hbm", "What was the most HBM that an allocator handed out?", [("xprof_memory", {"run": DENSE})],
             lambda a: max(one["peak_usage_bytes"] for one in a[0]["allocators"].values()), lambda t: t["dense_train_v5e16"]["memory"]["peak_bytes"]),
    Question("capacity", "How much HBM does a chip of the mixture of experts have?", [("xprof_memory", {"run": MOE})],
             lambda a: {one["memory_capacity_gib"] for one in a[0]["allocators"].values()},
             lambda t: {round(t["moe_v5p4"]["memory"]["capacity_bytes"] / GIB, 4)}),
    Question("regime", "Is the attention kernel with small blocks bound by compute or by memory?", [("roofline", {"run": SMALL})],
             lambda a: value(a[0], "regime"),
             # TPU v6e: 918 TFLOP/s in bfloat16, 1638 GB/s.
             lambda t: "compute" if intensity(t["pallas_attn_A_bq128"]) > 918e12 / 1638e9 else "memory"),
    Question("kernel", "Which kernel takes the time, and how long each time?",
             [("query", {"run": SMALL, "analysis": "ops", "sort": "-self_ps", "limit": 1, "columns": "name,occurrences,average_ps"})],
             lambda a: [(row["name"], row["occurrences"]) for row in rows(a[0], "ops")],
             lambda t: [(op["name"], op["count"]) for op in t["pallas_attn_A_bq128"]["top_ops_total_ms_per_device"][:1]]),
    Question("logits", "How long does a step compute the gradient of the logits?",
             [("query", {"run": DENSE, "analysis": "ops", "where": "framework_op ~ 'transpose(jvp(logits))/bsd,vd->bsv/dot_general'",
                         "group": "framework_op", "columns": "sum(self_ps)"})],
             # Four devices were profiled, of twelve steps each.
             lambda a: sum(row["sum(self_ps)"] for row in rows(a[0], "ops")) / 4 / 12 / MS,
             lambda t: t["dense_train_v5e16"]["ms_per_step_by_op_name"]["jit(train_step)/transpose(jvp(logits))/bsd,vd->bsv/dot_general"], 0.01),
    Question("flops", "How many FLOPs does a device of the mixture of experts compute?",
             [report(MOE, "ops", max_tokens=1000)], lambda a: value(a[0], "flops") / 4, lambda t: t["moe_v5p4"]["per_device"]["flops_total"], 0.002),
    Question("flags", "Which XLA flags was the dense run started with? (The profile does not say.)", [report(DENSE, "audit-flags")],
             lambda a: value(a[0], "flag_count"), lambda t: None),
    Question("verdict", "Is the second dense run slower than the first?", [("compare", {"run": DENSE, "other": SLOWER})],
             lambda a: value(a[0], "verdict"), lambda t: "slower", needs=COMPARE),
    Question("step-delta", "By how much?", [("xprof_compare", {"run_a": DENSE, "run_b": SLOWER})],
             lambda a: a[0]["step"]["step_delta_ps"]["value"] / MS,
             lambda t: t["dense_train_v5e16_regressed"]["regression"]["step_delta_ms"], 0.002, needs=COMPARE),
    Question("slowed-op", "Which op got slower most?",
             [("query", {"run": DENSE, "other": SLOWER, "analysis": "compare", "table": "ops", "where": "change = 'slower'",
                         "sort": "-delta_ps", "limit": 1, "columns": "op,delta_ps"})],
             lambda a: [row["op"] for row in rows(a[0], "ops")],
             lambda t: [slowest_op(t["dense_train_v5e16_regressed"])[0]], needs=COMPARE),
    Question("slowed-op-cost", "How much does the slowed op add to a step?",
             [("query", {"run": DENSE, "other": SLOWER, "analysis": "compare", "table": "ops", "where": "change = 'slower'",
                         "sort": "-delta_ps", "limit": 1, "columns": "op,delta_ps"})],
             lambda a: rows(a[0], "ops")[0]["delta_ps"] / MS,
             lambda t: slowest_op(t["dense_train_v5e16_regressed"])[1]["added_ms_per_step"], 0.05, needs=COMPARE),
    Question("blocks", "Does the kernel with large blocks make a step faster?", [("xprof_compare", {"run_a": SMALL, "run_b": LARGE})],
             lambda a: a[0]["verdict"],
             lambda t: "faster" if t["pallas_attn_B_bq512"]["step_time_ms"]["mean"] < t["pallas_attn_A_bq128"]["step_time_ms"]["mean"] else "slower",
             needs=COMPARE),
    Question("comparable", "Can the dense run be held against the mixture of experts?", [("compare", {"run": DENSE, "other": MOE})],
             lambda a: value(a[0], "verdict"),
             lambda t: "not comparable" if t["dense_train_v5e16"]["device_type"] != t["moe_v5p4"]["device_type"] else "comparable", needs=COMPARE),
]

# About the runs that the project makes itself.
FIXTURES = [
    Question("hosts", "Which hosts took part?", [("xprof_hosts", {"run": "tpu-train"})],
             lambda a: [host["hostname"] for host in a[0]["hosts"]], lambda t: [host["name"] for host in t["tpu-train"]["hosts"]]),
    Question("bound", "What bounds the training run?", [("xprof_overview", {"run": "tpu-train"})],
             lambda a: a[0]["haloscope"]["bound_by"]["value"], lambda t: t["tpu-train"]["bound_by"]),
    Question("mfu", "Which share of peak FLOP/s does it use?", [("xprof_overview", {"run": "tpu-train"})],
             lambda a: a[0]["haloscope"]["flop_share_of_peak"]["value"], lambda t: t["tpu-train"]["flop_share_of_peak"], 1e-4),
    Question("ops", "How many ops does it have?", [("xprof_framework_ops", {"run": "tpu-train"}), report("tpu-train", "ops", max_tokens=600)],
             lambda a: value(a[1], "op_count"), lambda t: t["tpu-train"]["distinct_ops"]),
    Question("input", "What bounds the run that waits for input?", [("xprof_overview", {"run": "tpu-input-bound"})],
             lambda a: a[0]["haloscope"]["bound_by"]["value"], lambda t: t["tpu-input-bound"]["bound_by"]),
    Question("gpu-idle", "How much of its active window is the GPU idle?", [report("gpu-train", "idle")],
             lambda a: value(a[0], "idle_share_of_active_window"), lambda t: t["gpu-train"]["idle_share_of_active_window"], 1e-4),
    Question("gpu-flops", "How many FLOPs did the AMD GPU compute? (Nobody counted.)", [report("gpu-amd", "ops")],
             lambda a: value(a[0], "flops"), lambda t: t["gpu-amd"]["flops"]),
    Question("kernel-flops", "How many FLOPs does the custom call have?",
             [("query", {"run": "tpu-custom-call", "analysis": "ops", "where": "category = 'custom-call'", "group": "category", "columns": "sum(flops)"})],
             lambda a: sum(row["sum(flops)"] for row in rows(a[0], "ops")), lambda t: t["tpu-custom-call"]["custom_call"]["flops"], 1e-5),
    Question("memory", "What was the most that the allocator handed out, ever?", [("xprof_memory", {"run": "tpu-memory"})],
             lambda a: [one["peak_usage_bytes"] for one in a[0]["allocators"].values()], lambda t: [t["tpu-memory"]["memory"]["lifetime_peak_bytes"]]),
    Question("type", "Which device is it?", [report("gpu-train", "overview")],
             lambda a: value(a[0], "device_type"), lambda t: t["gpu-train"]["device_type"]),
]
