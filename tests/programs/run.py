"""Real JAX programs on CPU, profiled: what is said of their time is what a clock said, moments before and after, without the profiler.
Programs of `cases/` have one slowness each, which FIXED=1 leaves out: the first cause must be it. Its ceiling is printed beside what
the clock says of leaving it out; the profiler makes what Python does longer, and with it the ceiling.

    python3 tests/programs/run.py --bin target/release/haloscope [--programs ../shared/programs] [--python PYTHON] [--out FOLDER]
                                  [--only NAME]

PYTHON must have jax; without it a virtual environment is made in OUT. Without the folder of programs those of `cases/` are tested, and that is said.
The sums that must hold in every report hold in each of these runs (`inspect --selfcheck`), however busy the machine was.
A busy machine is allowed for elsewhere: bounds widen by what two measurements of the same steps in the same process differ.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
JAX = ["jax==0.10.2", "jaxlib==0.10.2"]
# Programs in which nothing is wrong, and those whose steps are all work of the processor.
HEALTHY = ("one_matmul", "healthy")
WORK = ("one_matmul", "healthy", "float64", "onehot_matmul", "fixed/float64", "fixed/onehot_matmul")
OTHERS = ("pure_callback", "fixed/pure_callback", "eager", "fixed/eager", "numpy_each_step", "shapes_change")
# The rule that must name first what was built into a program.
CAUSES = {
    "eager": "eager_execution",
    "float64": "wide_precision",
    "numpy_each_step": "large_transfers",
    "onehot_matmul": "one_hot_product",
    "pure_callback": "debug_callbacks",
    "shapes_change": "recompilation",
}
# The same of programs in cases/; some slowness has two names.
OWN = {
    "busy_thread": ("interpreter_held",),
    "cache_read_back": ("defensive_copies",),
    "checkpoint_each_fifth": ("periodic_stall",),
    "closed_over_step": ("recompilation",),
    "collected_garbage": ("periodic_stall",),
    "depthwise": ("grouped_convolution",),
    "eager_metrics": ("eager_execution",),
    "eager_optimizer": ("eager_execution",),
    "growing_cache": ("recompilation",),
    "jit_in_loop": ("recompilation",),
    "joined_history": ("recompilation",),
    "logits_of_all_positions": ("unread_results",),
    "loop_over_batch": ("python_loop",),
    "loss_each_layer_fetch": ("blocking_reads",),
    "many_small_inputs": ("python_loop",),
    "metrics_apart": ("repeated_programs",),
    "nans_looked_for": ("debug_checks",),
    "network_loader": ("host_bound", "input_bound"),
    "noise_each_step": ("random_numbers",),
    "norms_in_float64": ("wide_precision",),
    "prime_length": ("fft_length",),
    "printed_loss": ("debug_callbacks",),
    "python_time_loop": ("python_loop",),
    "scalar_each_layer": ("blocking_reads", "python_loop"),
    "scan_of_rows": ("small_loop",),
    "slow_loader": ("host_bound", "input_bound"),
    "static_argument": ("recompilation",),
    "synced_log": ("host_bound",),
    "tables_each_step": ("constant_work",),
    "validation_each_fifth": ("periodic_program",),
    "vmap_of_cond": ("repeated_values",),
    "wait_each_layer": ("python_loop", "blocking_reads"),
    "weights_from_host": ("large_transfers",),
    "weights_to_host": ("host_bound", "blocking_reads", "large_transfers"),
    "whole_sort": ("whole_sort",),
}
IDLE = 0.10
TIMES = 0.15


class Failed(Exception):
    """A figure left its bounds."""


def rows(report, table):
    found = next(each for each in report["tables"] if each["id"] == table)
    names = [column["id"] for column in found["columns"]]
    return [dict(zip(names, row)) for row in found["rows"]]


def value(report, name):
    return report["values"].get(name, {}).get("value")


def measured(python, programs, name, folder, fixed=False):
    shutil.rmtree(folder, ignore_errors=True)
    environment = {**os.environ, "PYTHONPATH": str(programs), "PYTHONDONTWRITEBYTECODE": "1", "JAX_PLATFORMS": "cpu", "FIXED": str(int(fixed))}
    command = [python, str(HERE / "measure.py"), str(programs / f"{name}.py"), str(folder)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise Failed(f"the program ended with {done.returncode}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def asked(binary, analysis, folder):
    command = [binary, analysis, str(folder), "--format", "json", "--no-cache"]
    done = subprocess.run(command, capture_output=True, text=True)
    if not done.stdout.startswith("{"):
        raise Failed(f"{analysis}: {done.stderr[-500:]}")
    return json.loads(done.stdout)


def contradictions(binary, folder):
    """Where answers on the run contradict each other."""
    command = [binary, "inspect", "--selfcheck", str(folder), "--format", "json", "--no-cache"]
    done = subprocess.run(command, capture_output=True, text=True)
    if not done.stdout.startswith("{"):
        raise Failed(f"inspect --selfcheck: {done.stderr[-500:]}")
    table = rows(json.loads(done.stdout), "selfcheck")
    if not table:
        raise Failed("inspect --selfcheck looked at nothing")
    return [row for row in table if row["verdict"] != "holds"]


def check(name, said, overview, ops, diagnosis):
    """What must hold of one program; gives the figures."""
    rate = said["product"]
    steps, clock = said["steps"], [said["before"], said["profiled"], said["after"]]
    noise = max(clock) / min(clock) - 1
    table = rows(ops, "ops")
    own = sum(row["self_ps"] for row in table) / 1e9
    busy = value(overview, "device_busy_ps") / 1e9
    idle = value(overview, "idle_share_of_active_window")
    flops = value(overview, "flop_rate")
    rates = [row["flop_rate"] for row in table if row["flop_rate"] is not None]
    figures = f"busy {busy / steps:.2f} of {said['profiled']:.2f} ms a step (unprofiled {said['before']:.2f}, {said['after']:.2f}), idle {idle:.1%}"
    if flops is not None:
        figures += f", {flops / 1e9:.0f} of {rate / 1e9:.0f} GFLOP/s"

    def holds(what, condition):
        if not condition:
            raise Failed(f"{what}: {figures}, noise {noise:.0%}")

    # Ops do not overlap in the sum, and the device is not busy for longer than the loop ran.
    holds(f"ops have {own:.2f} ms, the device {busy:.2f}", own <= busy * 1.001)
    holds("busy for longer than the clock says", busy / steps <= said["profiled"] * 1.02)
    # Small products in a cache, at a calmer moment, are faster than a large one, but not several times.
    holds(f"an op at {max(rates, default=0) / 1e9:.0f} GFLOP/s", max(rates, default=0) <= rate * 2 * (1 + noise))
    if name in WORK:
        least = min(said["before"], said["after"]) * (1 - TIMES) / (1 + noise)
        most = max(clock) * (1 + TIMES)
        share = 1 - idle
        holds("busy for another time than the steps take", least * share <= busy / steps <= most)
    if name in HEALTHY:
        holds("idle", idle < IDLE * (1 + noise))
        causes = [finding for finding in diagnosis["findings"] if finding.get("speedup")]
        holds(f"a cause is said: {[cause['claim'] for cause in causes]}", not causes)
    if name in CAUSES:
        first = value(diagnosis, "first_cause")
        holds(f"the first cause is {first} and not {CAUSES[name]}", first == CAUSES[name])
    if name == "one_matmul":
        holds("the product's own rate", rate * 0.5 / (1 + noise) <= flops <= rate * (1.0 + noise) * 1.1)
        product = table[0]
        each = product["self_ps"] / product["occurrences"] / 1e9
        holds(f"the product takes {each:.1f} ms", abs(each / said["profiled"] - 1) <= TIMES)
    return figures


def shared_one(python, binary, programs, name, folder):
    """What must hold of a program of the folder beside the checkout: its figures, and where answers contradict each other."""
    said = measured(python, programs, name, folder)
    answers = [asked(binary, analysis, folder) for analysis in ("overview", "ops", "diagnose")]
    return check(name, said, *answers), contradictions(binary, folder)


def own(python, binary, _, name, folder):
    """What is said first of a program of cases/, which must be its slowness, and what the clock says."""
    slow, fast = (measured(python, HERE / "cases", name, folder / kind, kind == "fixed") for kind in ("slow", "fixed"))
    diagnosis = asked(binary, "diagnose", folder / "slow")
    first, ceiling = value(diagnosis, "first_cause"), value(diagnosis, "first_speedup")
    gain = min(slow["before"], slow["after"]) / min(fast["before"], fast["after"])
    figures = f"{first} at most {ceiling or 0:.2f}x; {min(slow['before'], slow['after']):.2f} ms a step, fixed {gain:.2f}x as fast"
    if first not in OWN[name]:
        raise Failed(f"the first cause is not {' or '.join(OWN[name])}: {figures}")
    return figures, contradictions(binary, folder / "slow")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--programs", type=Path, default=HERE.parents[1] / "../shared/programs")
    parser.add_argument("--python")
    parser.add_argument("--out", type=Path, default=Path("target/programs"))
    parser.add_argument("--only")
    options = parser.parse_args()
    has_programs = (options.programs / "common.py").is_file()
    if not has_programs:
        print(f"skipped: {options.programs} is not here")
    programs = options.programs.resolve()
    options.out.mkdir(parents=True, exist_ok=True)
    python = options.python
    if python is None:
        venv = options.out.resolve() / "venv"
        if not (venv / "bin/python").exists():
            subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
            subprocess.run([str(venv / "bin/pip"), "install", "--quiet", *JAX], check=True)
        python = str(venv / "bin/python")
    if subprocess.run([python, "-c", "import jax"], capture_output=True).returncode:
        print(f"skipped: {python} has no jax")
        return 0
    binary, failed = str(Path(options.bin).resolve()), 0
    shared = list(dict.fromkeys(WORK + OTHERS)) if has_programs else []
    names = [options.only] if options.only else shared + list(OWN)
    for name in names:
        # A neighbour that wakes up between two measurements is no fault of ours: what fails must fail three times.
        for attempt in range(3):
            folder = options.out.resolve() / "runs" / name.replace("/", "-")
            try:
                judge = own if name in OWN else shared_one
                figures, broken = judge(python, binary, programs, name, folder)
                for row in broken:
                    print(f"FAILED  {name}: {row}", flush=True)
                failed += bool(broken)
                print(f"ok      {name}: {figures}", flush=True)
                break
            except Failed as error:
                print(f"{'FAILED' if attempt == 2 else 'again '}  {name}: {error}", flush=True)
                failed += attempt == 2
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
