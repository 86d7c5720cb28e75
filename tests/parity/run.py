#!/usr/bin/env python3
"""Checks Haloscope's reports against XProf's recorded answers and against what forged runs were built to be.

    run.py TRACES --bin target/release/haloscope [--only REGEX]

TRACES holds `*/NAME/plugins/profile/run/*.xplane.pb`, `*/NAME.oracle/` (XProf's answers; index.json names them) and, for
forged runs, `*/NAME/truth.json`. Prints a line for each check and `N passed, N failed`; exit status 1 if one failed.
Differences that are XProf's own are listed in KNOWN, with the reason; those of ours that are open, in OPEN. Needs Python 3.9 and nothing else.
"""
import argparse
import gzip
import json
import os
import re
import subprocess
import sys

GPU_FLOPS = "XLA's GPU cost table counts 3 FLOPs an elementwise op and none for cuBLAS calls; Haloscope counts 1"
SLOWEST = "a step takes as long as its slowest device; the truth averages over devices: see step_time_device_mean_ps"
KERNELS = "XProf counts each kernel of an op as an execution, and FLOPs and bytes with it; Haloscope counts the kernels of one execution once"
IDLE_IN_STEP = "truth.json has 5258 us a step, as Haloscope has; XProf leaves out the 54 us in which nothing runs"
FUSED_GEMM = "Haloscope counts the result alone of a custom fusion around a product, and of cuBLAS calls what XProf counts as 0"
KNOWN = {
    # (session, check): why XProf's number is not ours
    ("v6e-pallas-matmul", "ops flops"): "XProf ignores FLOPs that kernel profiling puts on events of custom calls",
    ("v6e-pallas-matmul", "ops bytes"): "likewise for bytes",
    ("v6e-pallas-matmul", "op profile by program: flops"): "as for ops",
    ("v6e-pallas-matmul", "op profile by program: model flops"): "as for ops",
    ("v6e-pallas-matmul", "op profile by category: flops"): "as for ops",
    ("v6e-pallas-matmul", "op profile by category: model flops"): "as for ops",
    ("mi300-attention", "ops flops"): GPU_FLOPS,
    ("mi300-gemm", "ops flops"): GPU_FLOPS,
    ("gfx950-te-attn", "ops flops"): GPU_FLOPS,
    ("gfx950-te-attn", "ops occurrences"): KERNELS,
    ("mi300-conv", "ops occurrences"): KERNELS,
    ("mi300-conv", "ops flops"): KERNELS,
    ("mi300-conv", "ops bytes"): KERNELS,
    ("async_", "ops flops"): GPU_FLOPS,
    ("mi300-attention", "ops bytes"): "XProf counts 0 bytes for cuBLAS calls; Haloscope operands and result",
    ("v100x8-tf", "allocators of 34.83.195.179_"): "XProf states a lifetime peak of GPU_4_bfc below the peak in use that it states for the capture; Haloscope's is at least that",
    ("moe_v5p4", "truth step time"): SLOWEST,
    ("straggler_all_chips", "truth step time"): SLOWEST,
    ("nohlo", "step time"): IDLE_IN_STEP,
    ("nohlo", "each step"): IDLE_IN_STEP,
}
# Differences that are ours and still to be mended: they are printed, and no other is let through.
OPEN = {
    ("async_", "ops bytes"): FUSED_GEMM,
    ("gfx950-te-attn", "ops bytes"): FUSED_GEMM,
    ("mi300-gemm", "ops bytes"): FUSED_GEMM,
}


class Checks:
    def __init__(self):
        self.passed = self.failed = self.known = self.open = 0

    def add(self, session, name, ok, detail=""):
        if not ok and (session, name) in KNOWN:
            self.known += 1
            print(f"known {session:30} {name:28} {detail} ({KNOWN[session, name]})")
            return
        if not ok and (session, name) in OPEN:
            self.open += 1
            print(f"open  {session:30} {name:28} {detail} ({OPEN[session, name]})")
            return
        self.passed += ok
        self.failed += not ok
        print(f"{'ok   ' if ok else 'FAIL '} {session:30} {name:28} {detail}")


def ask(binary, analysis, run, *flags):
    done = subprocess.run([binary, *analysis.split(), run, "--format", "json", *flags], capture_output=True, timeout=300)
    if done.returncode == 4:
        return None
    if done.returncode != 0:
        raise SystemExit(f"{analysis} {run}: exit {done.returncode}: {done.stderr.decode(errors='replace')}")
    return json.loads(done.stdout)


def oracles(folder, tool):
    """All answers of a tool, each with the parameters it was asked with."""
    index = json.load(open(os.path.join(folder, "index.json")))
    for entry in index["entries"]:
        if entry["tool"] == tool:
            raw = open(os.path.join(folder, entry["file"]), "rb").read()
            yield entry["params"], json.loads(gzip.decompress(raw) if entry["file"].endswith(".gz") else raw)


def oracle(folder, tool):
    return next((answer for _, answer in oracles(folder, tool)), None)


def rows(table):
    ids = [c["id"] for c in table["cols"]]
    return [dict(zip(ids, [(c or {}).get("v") for c in r["c"]])) for r in table["rows"]]


def our_rows(report, table):
    found = next((t for t in report["tables"] if t["id"] == table), None)
    ids = [c["id"] for c in found["columns"]] if found else []
    return [dict(zip(ids, r)) for r in found["rows"]] if found else []


def value(report, key):
    return report["values"][key]["value"]


def near(a, b, relative, absolute=0.0):
    return a is not None and b is not None and abs(a - b) <= max(absolute, relative * max(abs(a), abs(b)))


def check_overview(checks, name, answers, overview):
    props = answers[0].get("p", {})
    stated = props.get("device_duty_cycle_percent")
    ours = value(overview, "duty_cycle")
    # XProf has no duty cycle for GPUs and prints 0.0% for CPUs: there is nothing to compare with.
    if stated and ours is not None:
        theirs = float(stated.rstrip("%"))
        checks.add(name, "duty cycle", abs(100 * ours - theirs) <= 0.1, f"{100 * ours:.2f}% against {theirs}%")


def check_steps(checks, name, answers, overview):
    if overview is None or len(answers) < 2:
        return
    props, stated = answers[1].get("p", {}), rows(answers[1])
    mean = float(props.get("steptime_ms_average", 0) or 0)
    if mean == 0 or not stated:
        return
    ours = value(overview, "step_time_mean_ps") / 1e9
    # Printed with one or two decimals; where the table has each step's time, the mean is taken from there.
    digits = len(str(props["steptime_ms_average"]).split(".")[1])
    times = [r["stepTimeMs"] for r in stated if r.get("stepTimeMs") is not None]
    if times:
        exact = sum(times) / len(times)
        checks.add(name, "step time", abs(ours - exact) <= 1e-3, f"{ours:.6f} ms against {exact:.6f} ms")
        checks.add(name, "step count", value(overview, "step_count") == len(times), f"{len(times)}")
        steps = [r["duration_ps"] / 1e9 for r in overview["_steps"] if r["class"] != "edge"]
        worst = max((abs(a - b) for a, b in zip(sorted(steps), sorted(times))), default=0)
        checks.add(name, "each step", len(steps) == len(times) and worst <= 1e-3, f"largest difference {worst * 1e3:.3f} us")
    else:
        half = 0.5 * 10.0**-digits
        checks.add(name, "step time", abs(ours - mean) <= half + 1e-3, f"{ours:.4f} ms against {mean} ms as printed")
        checks.add(name, "step count", value(overview, "step_count") == len(stated), f"{len(stated)}")


def check_ops(checks, name, answer, ops):
    stated = {}
    for r in rows(answer):
        if r.get("rank"):
            stated[str(r["program_id"]), r["hlo_op_name"]] = r
    if not stated:
        return
    ours = {(r["program_id"], r["name"]): r for r in our_rows(ops, "ops")}
    missing = [k for k in stated if k not in ours]
    checks.add(name, "ops found", not missing, f"{len(stated) - len(missing)} of {len(stated)} {missing[:2] if missing else ''}")
    wrong = {"occurrences": [], "time": [], "self time": [], "flops": [], "bytes": []}
    for key, theirs in stated.items():
        mine = ours.get(key)
        if mine is None:
            continue
        seconds = theirs["total_time"] / 1e6
        compare = {
            "occurrences": (mine["occurrences"], theirs["occurrences"], 0),
            "time": (mine["total_ps"] / 1e6, theirs["total_time"], 1e-9),
            "self time": (mine["self_ps"] / 1e6, theirs["total_self_time"], 1e-9),
            "flops": (mine["model_flops"] or 0, theirs["model_flop_rate"] * 1e9 * seconds, 1e-6),
            "bytes": (mine["bytes_accessed"] or 0, theirs["measured_memory_bw"] * 2**30 * seconds, 1e-6),
        }
        for what, (a, b, tolerance) in compare.items():
            if not near(a, b, tolerance, 1e-3):
                wrong[what].append((key[1], a, b))
    for what, bad in wrong.items():
        checks.add(name, f"ops {what}", not bad, f"{len(stated) - len(missing) - len(bad)} of {len(stated)} equal {bad[:1] if bad else ''}")


# What the first level of a tree is: XProf's word, and the key of its tree without idle time.
TREES = {"category": "byCategoryExcludeIdle", "program": "byProgramExcludeIdle"}
# Categories whose ops hold others: XProf leaves the ops out of its trees, Haloscope shows their own time.
HOLDERS = {"while", "call", "conditional"}


def tree_nodes(report):
    root = report["trees"][0]["nodes"][0]
    ids = [c["id"] for c in report["trees"][0]["columns"]]
    return dict(zip(ids, root["values"])), {c["label"]: dict(zip(ids, c["values"])) for c in root["children"]}


def check_op_profile(checks, name, params, answer, binary, run):
    by = params.get("group_by", "program")
    theirs = answer.get(TREES.get(by, ""))
    if not theirs or answer.get("deviceType") != "TPU":
        return
    root, ours = tree_nodes(ask(binary, "op-profile", run, "--by", by))
    metrics = theirs["metrics"]
    for what, a, b in (
        ("time", root["self_ps"], metrics["rawTime"]),
        ("flops", root["flops"] or 0, metrics["bf16Flops"]),
        ("model flops", root["model_flops"] or 0, metrics["rawFlops"]),
    ):
        checks.add(name, f"op profile by {by}: {what}", near(a, float(b), 1e-9), f"{a:.9g}")
    wrong = []
    for child in theirs.get("children", []):
        label = child["name"]
        mine = ours.get(label) or ours.get(label.rsplit("(", 1)[0])
        if label in HOLDERS or child["metrics"].get("rawTime", 0) == 0:
            continue
        if mine is None or not near(mine["self_ps"], float(child["metrics"]["rawTime"]), 1e-9):
            wrong.append(f"{label}: {mine and mine['self_ps']} against {child['metrics']['rawTime']}")
    checks.add(name, f"op profile by {by}: parts", not wrong, f"{len(theirs.get('children', []))} {'; '.join(wrong[:2])}")


def check_memory_peak(checks, name, params, answer, binary, run):
    """Peak, unpadded peak, position, parts, and each buffer of 16 KiB or more that is alive at the peak."""
    if "moduleName" not in answer or not answer.get("heapSizes") and not answer.get("maxHeap"):
        return
    label, space = params["module_name"], params["memory_space"]
    flags = ["--module", label, "--space", space, *(["--hosts", params["host"]] if "host" in params else [])]
    report = ask(binary, "memory peak", run, *flags)
    check = f"peak of {label.split('(')[0]} in {space}"[:28]
    if report is None:
        checks.add(name, check, False, "nothing to say")
        return
    wrong = []
    for ours, theirs in (
        ("peak_bytes", "peakHeapMib"),
        ("peak_unpadded_bytes", "peakUnpaddedHeapMib"),
        ("entry_parameter_bytes", "entryComputationParametersMib"),
        ("allocated_bytes", "totalBufferAllocationMib"),
        ("lasting_bytes", "indefiniteBufferAllocationMib"),
    ):
        mine, stated = value(report, ours) or 0, round(answer.get(theirs, 0) * 2**20)
        if mine != stated:
            wrong.append((ours, mine, stated))
    if (value(report, "peak_event") or 0) != answer.get("peakHeapSizePosition", 0):
        wrong.append(("peak_event", value(report, "peak_event"), answer.get("peakHeapSizePosition", 0)))
    if not all(row["holds"] for row in our_rows(report, "identities")):
        wrong.append(("identities",))
    if space == "1" and answer.get("maxScopedVmemAllocationMib"):
        mine, stated = value(report, "scoped_vmem_bytes"), round(answer["maxScopedVmemAllocationMib"] * 2**20)
        if mine != stated or value(report, "scoped_vmem_instruction") != answer["maxScopedVmemInstructionName"]:
            wrong.append(("scoped_vmem_bytes", mine, stated))
    buffers = {r["buffer_id"]: r for r in our_rows(report, "buffers")}
    stated = [o for o in answer.get("maxHeap", []) if o.get("logicalBufferId", 0) != -1]
    spans = answer.get("logicalBufferSpans", {})
    for theirs in stated:
        number = theirs.get("logicalBufferId", 0)
        mine = buffers.get(number)
        same = mine is not None and all(
            (mine[a] or "") == theirs.get(b, "")
            for a, b in (("instruction", "instructionName"), ("opcode", "opCode"), ("shape", "shapeString"), ("op_name", "tfOpName"), ("group", "groupName"))
        )
        if same and mine["from_event"] is not None:
            # Of what takes over another's memory XProf states its own size, here it is what it takes.
            span = spans.get(str(number), {})
            same = (mine["from_event"], mine["until_event"]) == (span.get("start", 0), span.get("limit", 0))
        if not same:
            wrong.append((theirs["instructionName"], mine))
    checks.add(name, check, not wrong, f"{value(report, 'peak_bytes') / 2**20:.3f} MiB, {len(stated)} buffers {wrong[:2] if wrong else ''}")


def check_memory_profile(checks, name, params, answer, binary, run):
    """Of each allocator: the peak and the account then, lifetime peak, capacity."""
    theirs = answer.get("memoryProfilePerAllocator", {})
    report = ask(binary, "memory profile", run, "--hosts", params["host"])
    if report is None or not theirs:
        checks.add(name, "allocators", (report is None) == (not theirs), "no allocator events" if not theirs else "nothing to say")
        return
    ours = {r["allocator"]: r for r in our_rows(report, "allocators")}
    wrong = [] if set(ours) == set(theirs) else [sorted(set(ours) ^ set(theirs))]
    alive = {}
    for row in our_rows(report, "alive"):
        alive[row["allocator"]] = alive.get(row["allocator"], 0) + row["bytes"]
    for allocator, stated in theirs.items():
        mine, summary = ours.get(allocator, {}), stated["profileSummary"]
        peak = summary["peakStats"]
        for a, b in (
            ("peak_bytes", peak["peakBytesInUse"]),
            ("reserved_bytes", peak["stackReservedBytes"]),
            ("allocated_bytes", peak["heapAllocatedBytes"]),
            ("available_bytes", peak["freeMemoryBytes"]),
            ("fragmentation", peak["fragmentation"]),
            ("capacity_bytes", summary["memoryCapacity"]),
            ("lifetime_peak_bytes", summary["peakBytesUsageLifetime"]),
        ):
            if not near(mine.get(a), float(b), 1e-12):
                wrong.append((allocator, a, mine.get(a), b))
        if mine and alive.get(allocator) != mine["peak_bytes"]:
            wrong.append((allocator, "alive", alive.get(allocator), mine["peak_bytes"]))
    checks.add(name, f"allocators of {params['host']}"[:28], not wrong, f"{len(theirs)} {wrong[:3] if wrong else ''}")


def check_truth(checks, name, truth, overview):
    idle = truth["idle"]
    for ours, theirs in (("idle_share_of_capture", "of_profile_window"), ("idle_share_of_active_window", "between_first_and_last_op")):
        mine = value(overview, ours)
        checks.add(name, f"truth {theirs}"[:28], abs(mine - idle[theirs]) <= 0.005, f"{mine:.4f} against {idle[theirs]:.4f}")
    mean = truth["step_time_ms"]["mean"]
    for label, key in (("truth step time", "step_time_mean_ps"), ("truth device mean", "step_time_device_mean_ps")):
        mine = value(overview, key) / 1e9
        checks.add(name, label, near(mine, mean, 1e-3), f"{mine:.4f} ms against {mean:.4f} ms")
    checks.add(name, "truth steps", value(overview, "step_count") == truth["steps"], f"{truth['steps']}")
    mfu = truth["model_flops_utilisation"]
    checks.add(name, "truth FLOP share", near(value(overview, "flop_share_of_peak"), mfu, 0.003), f"{value(overview, 'flop_share_of_peak'):.4f} against {mfu:.4f}")


def check_totals(checks, name, folder, binary, run):
    """A session of several hosts is one run: its totals are those of its files read one by one."""
    files = sorted(f for f in os.listdir(folder) if f.endswith(".xplane.pb"))
    if len(files) < 2:
        return
    whole = ask(binary, "ops", run)
    parts = [ask(binary, "ops", os.path.join(folder, f)) for f in files]
    for key in ("self_time_ps", "occurrences", "flops", "hbm_bytes"):
        total = sum(value(p, key) for p in parts)
        checks.add(name, f"sum of files: {key}", near(value(whole, key), total, 1e-12), f"{total:.6g}")
    hosts = our_rows(ask(binary, "overview", run), "hosts")
    checks.add(name, "hosts", len(hosts) == len(files) and all(h["devices"] for h in hosts), f"{len(hosts)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces")
    parser.add_argument("--bin", required=True)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    checks = Checks()
    folders = sorted(d for d, subs, _ in os.walk(args.traces) if "plugins" in subs)
    if not folders:
        raise SystemExit(f"run.py: no */plugins below {args.traces}")
    for run in folders:
        name = os.path.basename(run)
        if not re.search(args.only, name):
            continue
        answers = run + ".oracle"
        if os.path.isdir(answers):
            for params, answer in oracles(answers, "memory_viewer"):
                check_memory_peak(checks, name, params, answer, args.bin, run)
            for params, answer in oracles(answers, "memory_profile"):
                check_memory_profile(checks, name, params, answer, args.bin, run)
        overview = ask(args.bin, "overview", run)
        if overview is None:
            print(f"none  {name:30} overview has nothing to say (exit 4)")
            continue
        steps = ask(args.bin, "steps", run)
        overview["_steps"] = our_rows(steps, "steps") if steps else []
        if os.path.isdir(answers):
            check_overview(checks, name, oracle(answers, "overview_page"), overview)
            check_steps(checks, name, oracle(answers, "input_pipeline_analyzer"), overview)
            check_ops(checks, name, oracle(answers, "hlo_stats"), ask(args.bin, "ops", run))
            for params, answer in oracles(answers, "op_profile"):
                check_op_profile(checks, name, params, answer, args.bin, run)
        truth = os.path.join(run, "truth.json")
        if os.path.exists(truth):
            check_truth(checks, name, json.load(open(truth)), overview)
        check_totals(checks, name, os.path.join(run, "plugins", "profile", "run"), args.bin, run)
    print(f"{checks.known} known differences, see KNOWN in this file; {checks.open} of ours are open, see OPEN")
    print(f"{checks.passed} passed, {checks.failed} failed")
    sys.exit(checks.failed > 0)


if __name__ == "__main__":
    main()
