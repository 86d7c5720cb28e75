"""Steps: found on TPU, GPU and CPU, intersected over hosts."""
from cases import case
from wire import Space

US = 1_000_000
MS = 1_000_000_000
TOOLS = ("overview_page", "input_pipeline_analyzer", "pod_viewer")


def tpu_host(starts, length=2 * MS, cores=2, name="host0"):
    """Cores with a `Steps` line; every step has one module, a convolution and an infeed."""
    space = Space(name)
    for core in range(cores):
        plane = space.plane(f"/device:TPU:{core}", device_type_string="TPU v4", peak_teraflops_per_second=275.0)
        steps, modules, ops = plane.line("Steps", 0), plane.line("XLA Modules", 1), plane.line("XLA Ops", 2)
        for i, at in enumerate(starts):
            steps.event(str(i), at, length)
            modules.event("jit_step(9)", at, length, meta=dict(program_id=9), run_id=i)
            meta = dict(program_id=9, symbol_id=1, hlo_category="convolution", flops=1_000_000, bytes_accessed=1_000)
            ops.event("%conv.1", at, length // 2, meta=meta, display="conv.1")
            meta = dict(program_id=9, symbol_id=2, hlo_category="infeed")
            ops.event("%infeed.2", at + length // 2, length // 8 * (core + 1), meta=meta, display="infeed.2")
    return space


def two(starts, others, **more):
    return {"host0": tpu_host(starts), "host1": tpu_host(others, name="host1", **more)}


HOSTS = ("host0", "host1")
TEN = [i * 2 * MS for i in range(10)]
TOGETHER = {
    "in_step": (TEN, TEN),
    "shifted_by_one": (TEN, [t + 2 * MS for t in TEN]),
    "shifted_by_a_fraction": (TEN, [t + MS // 2 for t in TEN]),
    "one_host_without_steps": (TEN, []),
    "no_common_steps": (TEN, [t + 40 * MS for t in TEN]),
    "unequal_counts": (TEN, TEN[:4]),
    "gaps_between_steps": ([i * 3 * MS for i in range(5)], [i * 3 * MS + MS // 5 for i in range(5)]),
}
for label, (mine, others) in TOGETHER.items():
    case(*TOOLS, hosts=HOSTS, name=f"hosts_{label}")(lambda mine=mine, others=others: two(mine, others))


@case(*TOOLS, hosts=HOSTS)
def hosts_of_steps_without_length():
    """Steps that take no time."""
    return two(TEN, TEN, length=0)


@case(*TOOLS, "framework_op_stats")
def tpu_three_steps():
    """Two cores of one host; the second waits longer for its infeed."""
    return tpu_host(TEN[:3])


@case(*TOOLS)
def tpu_without_steps():
    """Modules and ops but no `Steps` line: no step is made up."""
    space = Space("host0")
    plane = space.plane("/device:TPU:0", device_type_string="TPU v4")
    plane.line("XLA Modules", 1).event("jit_step(9)", 0, MS, meta=dict(program_id=9))
    meta = dict(program_id=9, symbol_id=1, hlo_category="convolution")
    plane.line("XLA Ops", 2).event("%conv.1", 0, MS // 2, meta=meta, display="conv.1")
    return space


@case(*TOOLS, "hlo_stats")
def tpu_with_sparse_core():
    """A SparseCore plane has steps of its own."""
    space = tpu_host(TEN[:3], cores=1)
    plane = space.plane("/device:TPU:0 SparseCore 0", device_type_string="TPU v4")
    steps, ops = plane.line("Sparse Core Steps", 0), plane.line("Sparse Core Ops", 1)
    for i, at in enumerate(TEN[:3]):
        steps.event(str(i), at, MS)
        ops.event("%gather.1", at, MS // 2, meta=dict(program_id=9, symbol_id=5, hlo_category="gather"), display="gather.1")
    return space


@case(*TOOLS)
def tpu_with_described_sparse_core():
    """Of a SparseCore that states where it is, columns tell even if it does nothing."""
    space = tpu_host(TEN[:3], cores=1)
    space.plane("/device:TPU:0 SparseCore 0", device_type_string="TPU v4", core_details=bytes([0x10, 0, 0x20, 0])).line("Sparse Core Ops", 1)
    return space


@case(*TOOLS, "hlo_stats", "op_profile")
def tpu_steps_left_out():
    """Two of four steps belong to steps of the host; the others are left out, and their time with them."""
    space = Space("host0")
    plane = space.plane("/device:TPU:0", device_type_string="TPU v4")
    steps, ops = plane.line("Steps", 0), plane.line("XLA Ops", 2)
    host = space.plane("/host:CPU").line("main", 1)
    for i in range(4):
        steps.event(str(i), i * 10 * MS, 10 * MS, **(dict(_ct=7, _c=i) if i in (1, 2) else {}))
        host.event("train", i * 10 * MS, 9 * MS, _r=1, step_num=i, _pt=7, _p=i)
        if i in (1, 2):
            meta = dict(program_id=9, symbol_id=1, hlo_category="convolution")
            ops.event("%conv.1", i * 10 * MS + MS, 5 * MS, meta=meta, display="conv.1")
    return space


@case(*TOOLS, "hlo_stats", "roofline_model")
def tpu_on_the_devices_clock():
    """`device_offset_ps` and `device_duration_ps` replace the event's own times."""
    space = Space("host0")
    plane = space.plane("/device:TPU:0", device_type_string="TPU v6 Lite", peak_teraflops_per_second=900.0)
    steps, ops = plane.line("Steps", 0), plane.line("XLA Ops", 1)
    for i in range(4):
        at = i * MS
        steps.event(str(i), at, 900 * US, device_offset_ps=at + 5 * US, device_duration_ps=870 * US)
        meta = dict(program_id=3, symbol_id=1, hlo_category="loop fusion", flops=7_000_000, bytes_accessed=5_000)
        ops.event("%fusion.1", at, 600 * US, meta=meta, display="fusion.1", device_offset_ps=at + 7 * US, device_duration_ps=550 * US)
    return space


@case(*TOOLS)
def gpu_steps():
    """Marked steps on the host, kernels and a copy on streams."""
    space = Space("host0")
    host = space.plane("/host:CPU").line("main", 1)
    device = space.plane("/device:GPU:0", device_vendor="Nvidia", compute_cap_major=8, compute_cap_minor=0, clock_rate=1_410_000, core_count=108)
    compute, copies = device.line("Stream #1(Compute)", 1), device.line("Stream #2(MemcpyH2D)", 2)
    for i in range(4):
        at = i * 10 * MS
        host.event("train", at, 9 * MS, _r=1, step_num=i)
        host.event("cuLaunchKernel", at + MS, MS // 10, correlation_id=10 * i + 1)
        host.event("cuMemcpyAsync", at + 2 * MS, MS // 10, correlation_id=10 * i + 2)
        compute.event("volta_fp16_gemm", at + 3 * MS, 2 * MS, correlation_id=10 * i + 1, hlo_op="dot.1", hlo_module="jit_f")
        compute.event("ncclDevKernel_AllReduce", at + 5 * MS, MS, correlation_id=10 * i + 3, hlo_op="all-reduce.2", hlo_module="jit_f")
        copies.event("MemcpyH2D", at + 2 * MS, MS, correlation_id=10 * i + 2, memcpy_details="kind:H2D size:1024 dest:0 async:1")
    return space


@case(*TOOLS)
def cpu_steps():
    """A host alone: eight marked steps, of which the first and the last are left out."""
    line = (space := Space("host0")).plane("/host:CPU").line("main", 1)
    for i in range(8):
        line.event("train", i * 10 * MS, (5 + i % 3) * MS, _r=1, step_num=i)
        line.event("MatMul:MatMul", i * 10 * MS + MS, 2 * MS, tf_op="MatMul:MatMul")
    return space


@case(*TOOLS)
def cpu_few_steps():
    """Five marked steps: none is left out."""
    line = (space := Space("host0")).plane("/host:CPU").line("main", 1)
    for i in range(5):
        line.event("train", i * 10 * MS, (5 + i % 3) * MS, _r=1, step_num=i)
    return space


@case(*TOOLS)
def nothing():
    """A profile with a plane that has nothing in it."""
    space = Space("host0")
    space.plane("/host:CPU")
    return space
