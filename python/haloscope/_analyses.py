# Written by `cargo xtask python --write` from the registry of analyses: do not edit.
"""One method an analysis, and a function for each that needs no run."""

from __future__ import annotations

from . import _native
from ._asked import Asked, Document, words
from ._report import Report

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from ._asked import Baselines, DocumentLike, Names, RunLike, Steps, Texts, Window


class Analyses(Asked):
    """What a run can be asked."""

    def overview(
        self,
        *,
        hosts: Names = None,
        devices: Names = None,
        modules: Names = None,
        steps: Steps = None,
        window: Window = None,
        steady: bool = False,
    ) -> Report:
        """How is this run doing, and what bounds it?"""
        return self._ask(
            "overview",
            (),
            (hosts, devices, modules, steps, window, steady),
            {},
        )

    def diagnose(
        self,
        other: RunLike | None = None,
        *,
        hosts: Names = None,
        devices: Names = None,
        modules: Names = None,
        steps: Steps = None,
        window: Window = None,
        steady: bool = False,
        module: str | int | None = None,
        dots: int | None = None,
        exps: int | None = None,
        reduces: int | None = None,
        copies: int | None = None,
        defensive: int | None = None,
    ) -> Report:
        """Why is this run slow, what would removing each cause give at most, and what would prove that wrong?

        module: the HLO module: name, `name(program id)` or program id; of a dump also `@stage` behind it
        dots: how many matrix products to expect, including convolutions that are one
        exps: how many exponentials to expect
        reduces: how many reductions to expect
        copies: how many copies to expect outside fusions; a start and its end count as one
        defensive: how many defensive copies to expect among them
        """
        return self._ask(
            "diagnose",
            () if other is None else (other,),
            (hosts, devices, modules, steps, window, steady),
            {
                "module": module,
                "dots": dots,
                "exps": exps,
                "reduces": reduces,
                "copies": copies,
                "defensive": defensive,
            },
        )

    def compare(
        self,
        *others: RunLike,
        hosts: Names = None,
        devices: Names = None,
        modules: Names = None,
        steps: Steps = None,
        window: Window = None,
        steady: bool = False,
        force: bool = False,
        margin: str | int | None = None,
        pick: int | None = None,
        limit: int | None = None,
        renamed: bool | None = None,
    ) -> Report:
        """What changed between these runs, is it more than noise, and which ops make up the difference?

        force: compare runs even if their chip, device count, mesh, types, batch or shapes differ
        margin: a difference shown to be within this share of a step counts as the same; if it is shown neither within nor beyond, it is undecided [default: 1%]
        pick: which of several experiments to show in detail; 1 is the first [default: 1]
        limit: how many ops and names to list, largest differences first; 0 lists all [default: 100]
        renamed: also list ops that only have another name
        """
        return self._ask(
            "compare",
            others,
            (hosts, devices, modules, steps, window, steady),
            {
                "force": force,
                "margin": margin,
                "pick": pick,
                "limit": limit,
                "renamed": renamed,
            },
        )

    def check(
        self,
        baseline: Baselines = None,
        *,
        hosts: Names = None,
        devices: Names = None,
        modules: Names = None,
        steps: Steps = None,
        window: Window = None,
        steady: bool = False,
        budget: DocumentLike = None,
        claim: Texts = None,
        floor: str | int | None = None,
        wall: DocumentLike = None,
        expect: Texts = None,
        kernel: str | int | None = None,
        tolerance: str | int | None = None,
        margin: str | int | None = None,
        ops: bool | None = None,
        confidence: str | int | None = None,
        unknown: Literal["fail", "pass"] | None = None,
        force: bool = False,
    ) -> Report:
        """Does this run keep its budgets, and is it no slower than its baseline?

        budget: limits of metrics, as TOML: see docs/analyses/check.md
        claim: a claim about the run, such as latency<=0.71ms or kernel_bundles(mm)<=600: a metric, one of <= < >= > == !=, and a limit
        floor: the least time that is physically possible, such as 0.5ms: a result below it is an error, not a win
        wall: JSON of a benchmark: its wall times are compared with device times
        expect: a regular expression: a matching kernel, fusion, custom call or op must have been compiled and have run
        kernel: a regular expression for ops: `latency` and --wall then use their executions instead of the whole program's
        tolerance: how much slower than the baseline still passes, such as 1%: the whole interval must be below it; a budget with step_time.max_increase replaces it [default: 0%]
        margin: a difference shown to be within this share of a step counts as the same; if it is shown neither within nor beyond, it is undecided [default: 1%]
        ops: fail if an op takes longer than in the baseline by more than noise and 0.5% of a step; otherwise such ops are only reported
        confidence: confidence for budgets and claims, such as 0.95: the whole interval must be within the limit [default: the value alone decides; 0.95 for steps against a baseline]
        unknown: what happens to checks that could not be decided [default: fail]
        force: compare with the baseline even if chip, batch or shapes differ
        """
        return self._ask(
            "check",
            baseline,
            (hosts, devices, modules, steps, window, steady),
            {
                "budget": Document(budget),
                "claim": claim,
                "floor": floor,
                "wall": Document(wall),
                "expect": expect,
                "kernel": kernel,
                "tolerance": tolerance,
                "margin": margin,
                "ops": ops,
                "confidence": confidence,
                "unknown": unknown,
                "force": force,
            },
        )

    def idle(
        self,
        *,
        hosts: Names = None,
        devices: Names = None,
        modules: Names = None,
        steps: Steps = None,
        window: Window = None,
        steady: bool = False,
    ) -> Report:
        """Where did the time of the capture go: outside the program, waiting for the host or for other devices, or into work?"""
        return self._ask(
            "idle",
            (),
            (hosts, devices, modules, steps, window, steady),
            {},
        )

    def steps(
        self,
        *,
        hosts: Names = None,
        devices: Names = None,
        modules: Names = None,
        steps: Steps = None,
        window: Window = None,
        steady: bool = False,
    ) -> Report:
        """How long does a step take, how steady is it, and which steps differ from the others?"""
        return self._ask(
            "steps",
            (),
            (hosts, devices, modules, steps, window, steady),
            {},
        )

    def hosts(
        self,
        *,
        hosts: Names = None,
        devices: Names = None,
        modules: Names = None,
        steps: Steps = None,
        window: Window = None,
        steady: bool = False,
    ) -> Report:
        """Do all hosts and devices take the same time for a step, and which one makes the others wait?"""
        return self._ask(
            "hosts",
            (),
            (hosts, devices, modules, steps, window, steady),
            {},
        )

    def comm(
        self,
        *,
        hosts: Names = None,
        devices: Names = None,
        modules: Names = None,
        steps: Steps = None,
        window: Window = None,
        steady: bool = False,
        mesh: str | int | None = None,
        mesh_file: DocumentLike = None,
        topology: str | int | None = None,
    ) -> Report:
        """How much of a step is communication between devices, how much of it is hidden by other work, and which collectives are exposed?

        mesh: axes of the device mesh, major first, such as `data=4,model=4`; names the axes that collectives use
        mesh_file: a file with the axes of the device mesh, one per line or separated by commas: `data=4`
        topology: chips of the slice by axis, such as `4x4` or `2x2x4`, then a slash and the chips of a host unless they are 2x2: gives the physical axes of collectives and the bandwidth of their links
        """
        return self._ask(
            "comm",
            (),
            (hosts, devices, modules, steps, window, steady),
            {
                "mesh": mesh,
                "mesh-file": Document(mesh_file),
                "topology": topology,
            },
        )

    def input(
        self,
        *,
        hosts: Names = None,
        devices: Names = None,
        modules: Names = None,
        steps: Steps = None,
        window: Window = None,
        steady: bool = False,
    ) -> Report:
        """Do the devices wait for input, and which stage of the pipeline is too slow?"""
        return self._ask(
            "input",
            (),
            (hosts, devices, modules, steps, window, steady),
            {},
        )

    def ops(
        self,
        *,
        hosts: Names = None,
        devices: Names = None,
        modules: Names = None,
        steps: Steps = None,
        window: Window = None,
        steady: bool = False,
        by: Literal["op", "category", "module", "framework-op", "source", "deduplicated"] | None = None,
        on: Literal["device", "host"] | None = None,
    ) -> Report:
        """Which ops take the time, and how close are they to what the device can do?

        by: how to group ops [default: op]
        on: ops of the devices, or events of the host's threads [default: device]
        """
        return self._ask(
            "ops",
            (),
            (hosts, devices, modules, steps, window, steady),
            {
                "by": by,
                "on": on,
            },
        )

    def op_profile(
        self,
        *,
        hosts: Names = None,
        devices: Names = None,
        modules: Names = None,
        steps: Steps = None,
        window: Window = None,
        steady: bool = False,
        by: Literal["program", "category", "provenance", "source"] | None = None,
        idle: Literal["exclude", "include"] | None = None,
    ) -> Report:
        """Where does the device time go, from programs down to single ops, and how much of it is wasted?

        by: what the first levels are: programs and categories, categories, the framework's scopes, or source files and lines [default: program]
        idle: whether idle time counts as part of the whole [default: exclude]
        """
        return self._ask(
            "op-profile",
            (),
            (hosts, devices, modules, steps, window, steady),
            {
                "by": by,
                "idle": idle,
            },
        )

    def compute(
        self,
        *,
        hosts: Names = None,
        devices: Names = None,
        modules: Names = None,
        steps: Steps = None,
        window: Window = None,
        steady: bool = False,
    ) -> Report:
        """Where does compute time go (kind of work, phase, layer, line), how far is it from the roofline, and how much of it is padding, casts and copies?"""
        return self._ask(
            "compute",
            (),
            (hosts, devices, modules, steps, window, steady),
            {},
        )

    def compute_mfu(
        self,
        *,
        hosts: Names = None,
        devices: Names = None,
        modules: Names = None,
        steps: Steps = None,
        window: Window = None,
        steady: bool = False,
        global_batch: float | str | None = None,
        seq: float | str | None = None,
        flops_per_token: float | str | None = None,
        config: DocumentLike = None,
        mode: Literal["train", "infer"] | None = None,
        context: float | str | None = None,
        devices_count: float | str | None = None,
        peak: float | str | None = None,
    ) -> Report:
        """What share of the peak do the model's FLOPs reach, by each way of counting, and why do the ways differ?

        global_batch: sequences per step, over all devices of the job
        seq: tokens of a sequence that one step processes; 1 for a step that decodes one token
        flops_per_token: FLOPs of the model for one token, forward and backward in training, such as 42G
        config: the model's configuration: a Hugging Face config.json, or the same keys as TOML
        mode: what a step does: with --config, train counts 6N and infer 2N [default: train]
        context: with --config, the number of keys for each query, for example when decoding with a cache [default: half of --seq, a causal mask]
        devices_count: devices of the whole job, if the profile has only some of them [default: those that the program was compiled for]
        peak: peak FLOP/s of one device, instead of the known one, such as 197T
        """
        return self._ask(
            "compute mfu",
            (),
            (hosts, devices, modules, steps, window, steady),
            {
                "global-batch": global_batch,
                "seq": seq,
                "flops-per-token": flops_per_token,
                "config": Document(config),
                "mode": mode,
                "context": context,
                "devices-count": devices_count,
                "peak": peak,
            },
        )

    def roofline(
        self,
        *,
        hosts: Names = None,
        devices: Names = None,
        modules: Names = None,
        steps: Steps = None,
        window: Window = None,
        steady: bool = False,
        flops: float | str | None = None,
        bytes: float | str | None = None,
        latency: str | int | None = None,
        chip: str | int | None = None,
    ) -> Report:
        """Is the program bound by compute or by memory, and how much time does neither explain?

        flops: FLOPs of a piece of work, such as 138.8G: with --bytes and --latency, the roofline shows that work instead of a run
        bytes: bytes that it moves to and from HBM, such as 136M (10^6)
        latency: the time it takes, such as 2.12ms; seconds if no unit is given
        chip: the TPU to compare with, such as v5e [default: the devices of RUN]
        """
        return self._ask(
            "roofline",
            (),
            (hosts, devices, modules, steps, window, steady),
            {
                "flops": flops,
                "bytes": bytes,
                "latency": latency,
                "chip": chip,
            },
        )

    def source(
        self,
        *,
        hosts: Names = None,
        devices: Names = None,
        modules: Names = None,
        steps: Steps = None,
        window: Window = None,
        steady: bool = False,
        file: str | int | None = None,
    ) -> Report:
        """Which lines of the program's source does the device time come from?

        file: only lines of files whose path contains this, and calls through them
        """
        return self._ask(
            "source",
            (),
            (hosts, devices, modules, steps, window, steady),
            {
                "file": file,
            },
        )

    def kernels(
        self,
        *,
        hosts: Names = None,
        devices: Names = None,
        modules: Names = None,
        steps: Steps = None,
        window: Window = None,
        steady: bool = False,
    ) -> Report:
        """Which kernels run, how are they launched, and do they use the tensor cores?"""
        return self._ask(
            "kernels",
            (),
            (hosts, devices, modules, steps, window, steady),
            {},
        )

    def kernel(
        self,
        *,
        hosts: Names = None,
        devices: Names = None,
        modules: Names = None,
        steps: Steps = None,
        window: Window = None,
        steady: bool = False,
        op: str | int | None = None,
    ) -> Report:
        """What limits a TPU kernel (a unit, waiting, registers or copies), and how fast could its hot loop be?

        op: the op: `module(number)::op` as in `kernel list`, the HLO instruction, or a part of either; default: the one with the most time, else with the most modelled bundles
        """
        return self._ask(
            "kernel",
            (),
            (hosts, devices, modules, steps, window, steady),
            {
                "op": op,
            },
        )

    def kernel_list(
        self,
        *,
        hosts: Names = None,
        devices: Names = None,
        modules: Names = None,
        steps: Steps = None,
        window: Window = None,
        steady: bool = False,
    ) -> Report:
        """Which TPU ops can be inspected bundle by bundle, and what keeps each busy?"""
        return self._ask(
            "kernel list",
            (),
            (hosts, devices, modules, steps, window, steady),
            {},
        )

    def kernel_regions(
        self,
        *,
        hosts: Names = None,
        devices: Names = None,
        modules: Names = None,
        steps: Steps = None,
        window: Window = None,
        steady: bool = False,
        op: str | int | None = None,
    ) -> Report:
        """Which loops and branches does a TPU kernel have, and which take its bundles?

        op: the op: `module(number)::op` as in `kernel list`, the HLO instruction, or a part of either; default: the one with the most time, else with the most modelled bundles
        """
        return self._ask(
            "kernel regions",
            (),
            (hosts, devices, modules, steps, window, steady),
            {
                "op": op,
            },
        )

    def kernel_bundles(
        self,
        *,
        hosts: Names = None,
        devices: Names = None,
        modules: Names = None,
        steps: Steps = None,
        window: Window = None,
        steady: bool = False,
        op: str | int | None = None,
        first: int | None = None,
        count: int | None = None,
    ) -> Report:
        """What does each bundle of a TPU kernel do, and which source line is it from?

        op: the op: `module(number)::op` as in `kernel list`, the HLO instruction, or a part of either; default: the one with the most time, else with the most modelled bundles
        first: the first bundle to show [default: 0]
        count: how many bundles to show [default: 2000]
        """
        return self._ask(
            "kernel bundles",
            (),
            (hosts, devices, modules, steps, window, steady),
            {
                "op": op,
                "first": first,
                "count": count,
            },
        )

    def kernel_opcodes(
        self,
        *,
        hosts: Names = None,
        devices: Names = None,
        modules: Names = None,
        steps: Steps = None,
        window: Window = None,
        steady: bool = False,
        op: str | int | None = None,
    ) -> Report:
        """Which instructions does a TPU kernel have, and how often does each run?

        op: the op: `module(number)::op` as in `kernel list`, the HLO instruction, or a part of either; default: the one with the most time, else with the most modelled bundles
        """
        return self._ask(
            "kernel opcodes",
            (),
            (hosts, devices, modules, steps, window, steady),
            {
                "op": op,
            },
        )

    def kernel_registers(
        self,
        *,
        hosts: Names = None,
        devices: Names = None,
        modules: Names = None,
        steps: Steps = None,
        window: Window = None,
        steady: bool = False,
        op: str | int | None = None,
    ) -> Report:
        """How many registers does a TPU kernel need at once, and where are they scarce?

        op: the op: `module(number)::op` as in `kernel list`, the HLO instruction, or a part of either; default: the one with the most time, else with the most modelled bundles
        """
        return self._ask(
            "kernel registers",
            (),
            (hosts, devices, modules, steps, window, steady),
            {
                "op": op,
            },
        )

    def kernel_spills(
        self,
        *,
        hosts: Names = None,
        devices: Names = None,
        modules: Names = None,
        steps: Steps = None,
        window: Window = None,
        steady: bool = False,
        op: str | int | None = None,
        without: DocumentLike = None,
    ) -> Report:
        """Does a TPU kernel spill registers, on which lines, and do spills cost time?

        op: the op: `module(number)::op` as in `kernel list`, the HLO instruction, or a part of either; default: the one with the most time, else with the most modelled bundles
        without: the compiler's schedule analysis of the stage packed-bundles-no-spills-fills: with it, the cost of spills is known
        """
        return self._ask(
            "kernel spills",
            (),
            (hosts, devices, modules, steps, window, steady),
            {
                "op": op,
                "without": Document(without),
            },
        )

    def kernel_stages(
        self,
        *,
        hosts: Names = None,
        devices: Names = None,
        modules: Names = None,
        steps: Steps = None,
        window: Window = None,
        steady: bool = False,
        op: str | int | None = None,
    ) -> Report:
        """How long was a TPU kernel's schedule at each stage of the compiler, and what do registers and spills cost it?

        op: the op: `module(number)::op` as in `kernel list`, the HLO instruction, or a part of either; default: the one with the most time, else with the most modelled bundles
        """
        return self._ask(
            "kernel stages",
            (),
            (hosts, devices, modules, steps, window, steady),
            {
                "op": op,
            },
        )

    def kernel_diff(
        self,
        other: RunLike | None = None,
        *,
        hosts: Names = None,
        devices: Names = None,
        modules: Names = None,
        steps: Steps = None,
        window: Window = None,
        steady: bool = False,
        op: str | int | None = None,
        to: str | int | None = None,
    ) -> Report:
        """What did an edit, a compiler or tracing change in a TPU kernel: bundles, units, spills, memory, blocks?

        op: the op: `module(number)::op` as in `kernel list`, the HLO instruction, or a part of either; default: the one with the most time, else with the most modelled bundles
        to: the kernel to compare it with, named as for --op: from the second run, or another one of the first [default: the one with the same name]
        """
        return self._ask(
            "kernel diff",
            () if other is None else (other,),
            (hosts, devices, modules, steps, window, steady),
            {
                "op": op,
                "to": to,
            },
        )

    def kernel_source(
        self,
        *,
        hosts: Names = None,
        devices: Names = None,
        modules: Names = None,
        steps: Steps = None,
        window: Window = None,
        steady: bool = False,
        op: str | int | None = None,
    ) -> Report:
        """Which source lines, scopes and primitives take the bundles of a TPU kernel?

        op: the op: `module(number)::op` as in `kernel list`, the HLO instruction, or a part of either; default: the one with the most time, else with the most modelled bundles
        """
        return self._ask(
            "kernel source",
            (),
            (hosts, devices, modules, steps, window, steady),
            {
                "op": op,
            },
        )

    def kernel_grid(
        self,
        *,
        hosts: Names = None,
        devices: Names = None,
        modules: Names = None,
        steps: Steps = None,
        window: Window = None,
        steady: bool = False,
        op: str | int | None = None,
        module: str | int | None = None,
    ) -> Report:
        """How is a TPU kernel cut into blocks, and what does it compute and move?

        op: the kernel: the name of its instruction, such as `flash_attention.1`, or of its function [default: the program's only or first one]
        module: the HLO module: name, `name(program id)` or program id; of a dump also `@stage` behind it
        """
        return self._ask(
            "kernel grid",
            (),
            (hosts, devices, modules, steps, window, steady),
            {
                "op": op,
                "module": module,
            },
        )

    def kernel_text(
        self,
        *,
        hosts: Names = None,
        devices: Names = None,
        modules: Names = None,
        steps: Steps = None,
        window: Window = None,
        steady: bool = False,
        op: str | int | None = None,
        module: str | int | None = None,
    ) -> Report:
        """What is a TPU kernel's Mosaic code?

        op: the kernel: the name of its instruction, such as `flash_attention.1`, or of its function [default: the program's only or first one]
        module: the HLO module: name, `name(program id)` or program id; of a dump also `@stage` behind it
        """
        return self._ask(
            "kernel text",
            (),
            (hosts, devices, modules, steps, window, steady),
            {
                "op": op,
                "module": module,
            },
        )

    def utilization(
        self,
        *,
        hosts: Names = None,
        devices: Names = None,
        modules: Names = None,
        steps: Steps = None,
        window: Window = None,
        steady: bool = False,
    ) -> Report:
        """How busy were the units of the chip (matrix, vector, scalar, memory, links), by its hardware counters and inside kernels?"""
        return self._ask(
            "utilization",
            (),
            (hosts, devices, modules, steps, window, steady),
            {},
        )

    def critical_path(
        self,
        *,
        hosts: Names = None,
        devices: Names = None,
        modules: Names = None,
        steps: Steps = None,
        window: Window = None,
        steady: bool = False,
        if_: Texts = None,
    ) -> Report:
        """What makes a step as long as it is, and how long would it be if parts were faster?

        if_: what to change: `all-gather free`, `fusion.12 x0.7`, `fusion.12 at roofline`, `communication free`, `perfect overlap`, `no straggler`, `input free`, `no idle`; for several, put `;` between them or repeat the option
        """
        return self._ask(
            "critical-path",
            (),
            (hosts, devices, modules, steps, window, steady),
            {
                "if": if_,
            },
        )

    def megascale(
        self,
        *,
        hosts: Names = None,
        devices: Names = None,
        modules: Names = None,
        steps: Steps = None,
        window: Window = None,
        steady: bool = False,
    ) -> Report:
        """How long do transfers between slices take, how much time do they have, and how long do devices wait for them?"""
        return self._ask(
            "megascale",
            (),
            (hosts, devices, modules, steps, window, steady),
            {},
        )

    def inference(
        self,
        *,
        hosts: Names = None,
        devices: Names = None,
        modules: Names = None,
        steps: Steps = None,
        window: Window = None,
        steady: bool = False,
    ) -> Report:
        """How long do requests to a model server take, and where does their time go?"""
        return self._ask(
            "inference",
            (),
            (hosts, devices, modules, steps, window, steady),
            {},
        )

    def memory_peak(
        self,
        *,
        hosts: Names = None,
        devices: Names = None,
        modules: Names = None,
        steps: Steps = None,
        window: Window = None,
        steady: bool = False,
        module: str | int | None = None,
        space: str | int | None = None,
    ) -> Report:
        """How much memory does a program need, and what is in memory when it needs the most?

        module: the HLO module: name, `name(program id)` or program id; of a dump also `@stage` behind it
        space: the memory: hbm (main memory), vmem, sflag, cmem, smem, host, sparsecore, or the number that layouts have for it [default: hbm]
        """
        return self._ask(
            "memory peak",
            (),
            (hosts, devices, modules, steps, window, steady),
            {
                "module": module,
                "space": space,
            },
        )

    def memory_profile(
        self,
        *,
        hosts: Names = None,
        devices: Names = None,
        modules: Names = None,
        steps: Steps = None,
        window: Window = None,
        steady: bool = False,
    ) -> Report:
        """How much memory did the runtime allocate over time, and what was in memory at the peak?"""
        return self._ask(
            "memory profile",
            (),
            (hosts, devices, modules, steps, window, steady),
            {},
        )

    def memory_attribute(
        self,
        *,
        hosts: Names = None,
        devices: Names = None,
        modules: Names = None,
        steps: Steps = None,
        window: Window = None,
        steady: bool = False,
        module: str | int | None = None,
        space: str | int | None = None,
        rules: DocumentLike = None,
    ) -> Report:
        """What is the memory at the peak used for: parameters, optimiser, KV cache, activations?

        module: the HLO module: name, `name(program id)` or program id; of a dump also `@stage` behind it
        space: the memory: hbm (main memory), vmem, sflag, cmem, smem, host, sparsecore, or the number that layouts have for it [default: hbm]
        rules: a TOML file of rules that are tried before the built-in ones
        """
        return self._ask(
            "memory attribute",
            (),
            (hosts, devices, modules, steps, window, steady),
            {
                "module": module,
                "space": space,
                "rules": Document(rules),
            },
        )

    def memory_diagnose(
        self,
        *,
        hosts: Names = None,
        devices: Names = None,
        modules: Names = None,
        steps: Steps = None,
        window: Window = None,
        steady: bool = False,
        module: str | int | None = None,
        space: str | int | None = None,
        rules: DocumentLike = None,
        capacity: float | str | None = None,
    ) -> Report:
        """Which memory could the program do without, and what should you try?

        module: the HLO module: name, `name(program id)` or program id; of a dump also `@stage` behind it
        space: the memory: hbm (main memory), vmem, sflag, cmem, smem, host, sparsecore, or the number that layouts have for it [default: hbm]
        rules: a TOML file of rules that are tried before the built-in ones
        capacity: bytes of the device's memory, such as 17.2G [default: what the run says]
        """
        return self._ask(
            "memory diagnose",
            (),
            (hosts, devices, modules, steps, window, steady),
            {
                "module": module,
                "space": space,
                "rules": Document(rules),
                "capacity": capacity,
            },
        )

    def oom(
        self,
        *,
        hosts: Names = None,
        devices: Names = None,
        modules: Names = None,
        steps: Steps = None,
        window: Window = None,
        steady: bool = False,
        message: DocumentLike = None,
        assignment: DocumentLike = None,
        usage: DocumentLike = None,
        hlo: DocumentLike = None,
        chip: Literal["any", "v4", "v5e", "v5p", "v6e", "v7x"] | None = None,
        capacity: float | str | None = None,
        module: str | int | None = None,
    ) -> Report:
        """What did not fit into memory, and what would make it fit?

        message: the error, alone or in a traceback or log
        assignment: *buffer-assignment.txt of the folder that --xla_dump_to wrote: which buffers fill HBM
        usage: *memory-usage-report.txt of that folder, if there is no buffer assignment
        hlo: *oom_intermediate_module.txt or *after_optimizations.txt of that folder: names and lines of buffers
        chip: the TPU generation, if the text does not say [default: any]
        capacity: bytes a program can use, such as 16.9G
        module: the HLO module: name, `name(program id)` or program id; of a dump also `@stage` behind it
        """
        return self._ask(
            "oom",
            (),
            (hosts, devices, modules, steps, window, steady),
            {
                "message": Document(message),
                "assignment": Document(assignment),
                "usage": Document(usage),
                "hlo": Document(hlo),
                "chip": chip,
                "capacity": capacity,
                "module": module,
            },
        )

    def hlo_modules(
        self,
        *,
        hosts: Names = None,
        devices: Names = None,
        modules: Names = None,
        steps: Steps = None,
        window: Window = None,
        steady: bool = False,
    ) -> Report:
        """Which programs did the compiler build, were any built twice, and is this one compiled step or eager execution?"""
        return self._ask(
            "hlo modules",
            (),
            (hosts, devices, modules, steps, window, steady),
            {},
        )

    def hlo_text(
        self,
        *,
        hosts: Names = None,
        devices: Names = None,
        modules: Names = None,
        steps: Steps = None,
        window: Window = None,
        steady: bool = False,
        module: str | int | None = None,
        form: Literal["long", "short"] | None = None,
        computation: str | int | None = None,
        instruction: str | int | None = None,
    ) -> Report:
        """What does the program look like, as XLA prints it?

        module: the HLO module: name, `name(program id)` or program id; of a dump also `@stage` behind it
        form: full as in a compiler dump, or short: without source positions, large constants and comments [default: long]
        computation: only the computation of this name
        instruction: only the instruction of this name
        """
        return self._ask(
            "hlo text",
            (),
            (hosts, devices, modules, steps, window, steady),
            {
                "module": module,
                "form": form,
                "computation": computation,
                "instruction": instruction,
            },
        )

    def hlo_counters(
        self,
        *,
        hosts: Names = None,
        devices: Names = None,
        modules: Names = None,
        steps: Steps = None,
        window: Window = None,
        steady: bool = False,
        module: str | int | None = None,
        dots: int | None = None,
        exps: int | None = None,
        reduces: int | None = None,
        copies: int | None = None,
        defensive: int | None = None,
    ) -> Report:
        """How many products, exponentials, reductions and copies did the compiler make of a kernel, and why is each copy there?

        module: the HLO module: name, `name(program id)` or program id; of a dump also `@stage` behind it
        dots: how many matrix products to expect, including convolutions that are one
        exps: how many exponentials to expect
        reduces: how many reductions to expect
        copies: how many copies to expect outside fusions; a start and its end count as one
        defensive: how many defensive copies to expect among them
        """
        return self._ask(
            "hlo counters",
            (),
            (hosts, devices, modules, steps, window, steady),
            {
                "module": module,
                "dots": dots,
                "exps": exps,
                "reduces": reduces,
                "copies": copies,
                "defensive": defensive,
            },
        )

    def hlo_fusions(
        self,
        *,
        hosts: Names = None,
        devices: Names = None,
        modules: Names = None,
        steps: Steps = None,
        window: Window = None,
        steady: bool = False,
        module: str | int | None = None,
    ) -> Report:
        """What did the compiler fuse, and which values still pass through memory between ops that it could have fused?

        module: the HLO module: name, `name(program id)` or program id; of a dump also `@stage` behind it
        """
        return self._ask(
            "hlo fusions",
            (),
            (hosts, devices, modules, steps, window, steady),
            {
                "module": module,
            },
        )

    def hlo_graph(
        self,
        *,
        hosts: Names = None,
        devices: Names = None,
        modules: Names = None,
        steps: Steps = None,
        window: Window = None,
        steady: bool = False,
        module: str | int | None = None,
        node: str | int | None = None,
        to: str | int | None = None,
        radius: int | None = None,
        direction: Literal["both", "operands", "users"] | None = None,
        through: Literal["calls", "none"] | None = None,
        limit: int | None = None,
    ) -> Report:
        """What feeds an instruction and what reads it, and how does one instruction reach another?

        module: the HLO module: name, `name(program id)` or program id; of a dump also `@stage` behind it
        node: the instruction in the middle, by name; a computation means its root; by default the op that took the most time, or the program's result if no times were measured
        to: a second instruction: shows a shortest path to it instead of the neighbourhood
        radius: how many steps from the middle [default: 2]
        direction: follow what is read (operands), what reads (users), or both [default: both]
        through: step into and out of fusions, loops, branches and calls, or stay in one computation (none) [default: calls]
        limit: how many instructions to show, nearest first; 0 shows all [default: 500]
        """
        return self._ask(
            "hlo graph",
            (),
            (hosts, devices, modules, steps, window, steady),
            {
                "module": module,
                "node": node,
                "to": to,
                "radius": radius,
                "direction": direction,
                "through": through,
                "limit": limit,
            },
        )

    def hlo_search(
        self,
        *,
        hosts: Names = None,
        devices: Names = None,
        modules: Names = None,
        steps: Steps = None,
        window: Window = None,
        steady: bool = False,
        module: str | int | None = None,
        query: str | int | None = None,
        in_: Literal["name", "op-name", "text", "all"] | None = None,
        opcode: str | int | None = None,
        shape: str | int | None = None,
        min_bytes: float | str | None = None,
        limit: int | None = None,
    ) -> Report:
        """Which instructions match a name, a place in the source, or a shape?

        module: the HLO module: name, `name(program id)` or program id; of a dump also `@stage` behind it
        query: words to look for, ignoring case, or a regular expression between slashes: /fusion\\.[0-9]+$/
        in_: where to look for the query: the name, the framework's scope path, the instruction's text, or any of them [default: all]
        opcode: only instructions of this opcode, such as all-reduce; separate several with commas
        shape: only results whose shape contains this, such as bf16[8,2048 or {0,1
        min_bytes: only results of at least this many bytes, such as 1M
        limit: how many instructions to list, the largest results first; 0 lists all [default: 200]
        """
        return self._ask(
            "hlo search",
            (),
            (hosts, devices, modules, steps, window, steady),
            {
                "module": module,
                "query": query,
                "in": in_,
                "opcode": opcode,
                "shape": shape,
                "min-bytes": min_bytes,
                "limit": limit,
            },
        )

    def hlo_diff(
        self,
        other: RunLike | None = None,
        *,
        hosts: Names = None,
        devices: Names = None,
        modules: Names = None,
        steps: Steps = None,
        window: Window = None,
        steady: bool = False,
        module: str | int | None = None,
        to: str | int | None = None,
        limit: int | None = None,
        renamed: bool | None = None,
    ) -> Report:
        """What did the compiler change, apart from names?

        module: the HLO module: name, `name(program id)` or program id; of a dump also `@stage` behind it
        to: the module to compare with, named as for --module: from the second run, or another stage of a dump
        limit: how many changes to list, the largest first, and how many lines of the text; 0 shows all [default: 500]
        renamed: also list instructions that only have another name
        """
        return self._ask(
            "hlo diff",
            () if other is None else (other,),
            (hosts, devices, modules, steps, window, steady),
            {
                "module": module,
                "to": to,
                "limit": limit,
                "renamed": renamed,
            },
        )

    def audit_flags(
        self,
        *,
        hosts: Names = None,
        devices: Names = None,
        modules: Names = None,
        steps: Steps = None,
        window: Window = None,
        steady: bool = False,
        script: DocumentLike = None,
        version: str | int | None = None,
    ) -> Report:
        """Which XLA and libtpu flags was the run started with, do any conflict, and which would help?

        script: a launch script, environment dump, JSON, YAML or Python file with the flags of the run
        version: the releases that read the flags, such as libtpu-0.0.52 or libtpu-0.0.52,jaxlib-0.10.2 [default: those in the profile]
        """
        return self._ask(
            "audit flags",
            (),
            (hosts, devices, modules, steps, window, steady),
            {
                "script": Document(script),
                "version": version,
            },
        )

    def inspect(
        self,
        *,
        hosts: Names = None,
        devices: Names = None,
        modules: Names = None,
        steps: Steps = None,
        window: Window = None,
        steady: bool = False,
        selfcheck: bool = False,
    ) -> Report:
        """What is in this profile, what is missing, and what should the next capture do differently?

        selfcheck: runs every analysis on the whole and on parts of it, and checks the sums that must hold: exit code 1 if one does not
        """
        return self._ask(
            "inspect",
            (),
            (hosts, devices, modules, steps, window, steady),
            {
                "selfcheck": selfcheck,
            },
        )


def roofline(
    *,
    flops: float | str | None = None,
    bytes: float | str | None = None,
    latency: str | int | None = None,
    chip: str | int | None = None,
) -> Report:
    """Is the program bound by compute or by memory, and how much time does neither explain?

    flops: FLOPs of a piece of work, such as 138.8G: with --bytes and --latency, the roofline shows that work instead of a run
    bytes: bytes that it moves to and from HBM, such as 136M (10^6)
    latency: the time it takes, such as 2.12ms; seconds if no unit is given
    chip: the TPU to compare with, such as v5e [default: the devices of RUN]
    """
    return Report(_native.alone(
        "roofline",
        words({
            "flops": flops,
            "bytes": bytes,
            "latency": latency,
            "chip": chip,
        }),
    ))


def oom(
    *,
    message: DocumentLike = None,
    assignment: DocumentLike = None,
    usage: DocumentLike = None,
    hlo: DocumentLike = None,
    chip: Literal["any", "v4", "v5e", "v5p", "v6e", "v7x"] | None = None,
    capacity: float | str | None = None,
    module: str | int | None = None,
) -> Report:
    """What did not fit into memory, and what would make it fit?

    message: the error, alone or in a traceback or log
    assignment: *buffer-assignment.txt of the folder that --xla_dump_to wrote: which buffers fill HBM
    usage: *memory-usage-report.txt of that folder, if there is no buffer assignment
    hlo: *oom_intermediate_module.txt or *after_optimizations.txt of that folder: names and lines of buffers
    chip: the TPU generation, if the text does not say [default: any]
    capacity: bytes a program can use, such as 16.9G
    module: the HLO module: name, `name(program id)` or program id; of a dump also `@stage` behind it
    """
    return Report(_native.alone(
        "oom",
        words({
            "message": Document(message),
            "assignment": Document(assignment),
            "usage": Document(usage),
            "hlo": Document(hlo),
            "chip": chip,
            "capacity": capacity,
            "module": module,
        }),
    ))


__all__ = ["Analyses", "roofline", "oom"]
