"""Ops: self time, duty cycle, host ops, kernels, derived timelines."""
from cases import case
from wire import Space, Uint

US = 1_000_000
MS = 1_000_000_000


def op(line, name, start, length, category, symbol, **more):
    meta = dict(program_id=5, symbol_id=symbol, hlo_category=category, flops=1_000 * symbol, bytes_accessed=512 * symbol)
    return line.event(f"%{name} = f32[4]{{0}} {category}()", start, length, meta={**meta, **more}, display=name)


def core(*ops, number=0, space=None, modules=((0, 1000),)):
    space = space or Space("host0")
    plane = space.plane(f"/device:TPU:{number}", device_type_string="TPU v5 Lite", peak_teraflops_per_second=197.0)
    line = plane.line("XLA Modules", 1)
    for start, length in modules:
        line.event("jit_f(5)", start * US, length * US, meta=dict(program_id=5))
    line = plane.line("XLA Ops", 2)
    for i, (name, start, length, category) in enumerate(ops):
        op(line, name, start * US, length * US, category, i + 1)
    return space


DUTY = ("overview_page", "op_profile", "hlo_stats")


@case(*DUTY)
def duty_nested():
    """A loop is busy between its ops; a wait inside it is not."""
    return core(("while.1", 0, 800, "while"), ("fusion.2", 10, 100, "loop fusion"), ("infeed.3", 200, 300, "infeed"))


@case(*DUTY)
def duty_all_waiting():
    """Every category that does not count as work."""
    waits = ("infeed", "outfeed", "host send", "host recv", "host send-done", "host recv-done", "megacore fusion", "async-done")
    return core(*((f"wait.{i}", i * 100, 90, category) for i, category in enumerate(waits)), ("add.9", 850, 50, "non-fusion elementwise"))


@case(*DUTY)
def duty_overlapping():
    """Ops that overlap without nesting, and one of no length."""
    return core(("a.1", 0, 300, "convolution"), ("b.2", 200, 310, "copy"), ("c.3", 600, 0, "copy"), ("d.4", 700, 100, "copy-done"))


@case(*DUTY)
def duty_from_the_epoch_on():
    """An event without length at 1970-01-01 does not count for the span; a later one does."""
    return core(("a.1", 0, 0, "convolution"), ("b.2", 500, 100, "convolution"), ("c.3", 900, 0, "copy"), modules=((200, 100),))


@case(*DUTY, "pod_viewer")
def duty_two_cores():
    """Cores of one chip with different shares."""
    space = core(("a.1", 0, 300, "convolution"))
    return core(("a.1", 0, 700, "convolution"), number=1, space=space)


@case("overview_page", "framework_op_stats", "input_pipeline_analyzer")
def host_ops():
    """TensorFlow ops on two threads, nested, one eager; an iterator and pipeline stages."""
    plane = (space := Space("host0")).plane("/host:CPU")
    line = plane.line("worker/1", 1)
    line.event("TfOp", 0, 100 * US, tf_op="model/dense/MatMul:MatMul")
    line.event("Inner", 20 * US, 30 * US, tf_op="model/dense/BiasAdd:BiasAdd")
    line.event("TfOp", 200 * US, 50 * US, tf_op="model/dense/MatMul:MatMul")
    line = plane.line("worker/2", 2)
    line.event("Iterator::Map::TFRecord", 10 * US, 40 * US)
    line.event("stage", 60 * US, 20 * US, _ipl_stage_id=1, _ipl_stage_name="Read", _ipl_stage_cat="read")
    line.event("stage", 90 * US, 5 * US, _ipl_stage_id=2, _ipl_stage_name="Enqueue", _ipl_stage_cat="enqueue")
    line.event("model/Relu:Relu", 120 * US, 15 * US)
    return space


@case("overview_page", "framework_op_stats")
def host_eager():
    """An op below EagerExecute counts as eager."""
    line = (space := Space("host0")).plane("/host:CPU").line("main", 1)
    line.event("EagerExecute", 0, 100 * US, is_eager=1)
    line.event("TfOp", 10 * US, 50 * US, tf_op="add:AddV2", is_eager=1)
    line.event("FunctionRun", 200 * US, 100 * US)
    line.event("TfOp", 210 * US, 20 * US, tf_op="mul:Mul", is_func=1)
    return space


def tf_ops(root=None, group=None, loop=False):
    """Ops that say they are eager, ops that do not, and one outside of what is executed eagerly."""
    line = (space := Space("host0")).plane("/host:CPU").line("main", 1)
    if root is not None:
        line.event("EagerExecute", 0, 100 * US, **root, **(group or {}))
    line.event("a/b:MatMul", 10 * US, 10 * US)
    line.event("c:Add", 30 * US, 10 * US, is_eager=1)
    line.event("TfOp", 50 * US, 10 * US, tf_op="d:Sub", is_eager=1)
    if loop:
        line.event("WhileOp-EvalCond", 70 * US, 10 * US)
    line.event("outer/x:Mul", 200 * US, 20 * US, is_eager=1)
    return space


EAGER = {
    "a_function": dict(root=dict(is_func=1)),
    "no_function": dict(root=dict(is_func=0)),
    "nobody_knows": dict(root={}),
    "no_root": {},
    "grouped_before": dict(root=dict(is_func=0), group=dict(group_id=0)),
    "with_a_loop": dict(root=dict(is_func=0), loop=True),
}
for label, how in EAGER.items():
    case("framework_op_stats", "overview_page", name=f"eager_{label}")(lambda how=how: tf_ops(**how))


def gpu_streams(*events):
    """Events are (stream, name, start in us, length in us, stats)."""
    space = Space("host0")
    plane = space.plane(
        "/device:GPU:0", device_vendor="Nvidia", compute_cap_major=8, compute_cap_minor=0, clock_rate=1_410_000, core_count=108,
        memory_bandwidth=1_555_000_000_000,
    )  # fmt: skip
    lines = {}
    for stream, name, start, length, stats in events:
        line = lines.get(stream) or lines.setdefault(stream, plane.line(f"Stream #{stream}(Compute)", stream))
        line.event(name, start * US, length * US, **stats)
    space.plane("/host:CPU").line("main", 1).event("jit_f", 0, MS)
    return space


def details(grid, block, regs=64, static=0, dynamic=1024, occupancy=37.5):
    text = f"regs:{regs} static_shared:{static} dynamic_shared:{dynamic} grid:{grid} block:{block} occ_pct:{occupancy}"
    return dict(kernel_details=text)


@case("kernel_stats", "overview_page")
def kernels():
    """Reports by name, grid, block, registers and shared memory; two launches of one, two sizes of another, tensor cores."""
    dot = dict(hlo_op="dot.1", hlo_module="jit_f", tf_op="jit(f)/dot_general:MatMul", program_id=1)
    add = dict(hlo_op="add.2", hlo_module="jit_f", tf_op="jit(f)/add:AddV2", program_id=1)
    return gpu_streams(
        (1, "ampere_fp16_s16816gemm_128x64", 0, 30, dict(**details("8,1,1", "128,1,1", 255, 49152, 0), **dot)),
        (1, "ampere_fp16_s16816gemm_128x64", 40, 20, dict(**details("8,1,1", "128,1,1", 255, 49152, 0), **dot)),
        (1, "loop_add_fusion", 70, 5, dict(**details("16,2,1", "256,1,1"), **add)),
        (1, "loop_add_fusion", 80, 6, dict(**details("32,2,1", "256,1,1"), **add)),
        (2, "volta_h884gemm", 0, 7, details("1,1,1", "32,4,1")),
        (2, "memcpy", 20, 7, dict(memcpy_details="kind:D2D size:64 dest:0 async:1")),
    )


@case("kernel_stats")
def kernel_details_malformed():
    """Details with words missing, of the wrong kind, in another order, and none at all."""
    return gpu_streams(
        (1, "a", 0, 9, dict(kernel_details="regs:abc grid:1,2 block:7")),
        (1, "b", 10, 8, dict(kernel_details="block:2,2,2 occ_pct:100 grid:4,4,4 regs:8 extra:1")),
        (1, "c", 20, 7, dict(kernel_details="")),
        (1, "d", 30, 6, dict()),
        (1, "e", 40, 5, dict(kernel_details="grid:1,1,1\nblock:1,1,1\nregs:5\nstatic_shared:1\ndynamic_shared:2\nocc_pct:12.5")),
    )


@case("trace_viewer@", "framework_op_stats", "op_profile", "hlo_stats")
def derived_from_kernels():
    """Module, op and scope lines come from a stream's kernels; neighbours of one op become one event."""
    def stats(op, scope, run):
        return dict(hlo_op=op, hlo_module="jit_f", program_id=1, tf_op=f"jit(f)/{scope}:", group_id=run, correlation_id=run)

    return gpu_streams(
        (1, "k1", 0, 10, stats("dot.1", "layer/dot_general", 0)),
        (1, "k2", 10, 10, stats("dot.1", "layer/dot_general", 0)),
        (1, "k3", 25, 10, stats("add.2", "layer/add", 0)),
        (1, "k1", 100, 10, stats("dot.1", "layer/dot_general", 1)),
        (2, "k4", 105, 20, stats("tanh.3", "other/tanh", 1)),
    )


@case("trace_viewer@", "framework_op_stats")
def derived_from_graph_kernels(number=int):
    """Kernels of a CUDA graph, without an HLO op of their own. The graph's id counts only if it is unsigned."""
    graph = dict(cuda_graph_id=number(11), cuda_graph_exec_id=number(12), correlation_id=5)
    return gpu_streams((1, "k1", 0, 10, graph), (1, "k2", 12, 10, graph), (1, "k3", 40, 5, dict(hlo_op="add.2", hlo_module="jit_f")))


case("trace_viewer@", name="derived_from_graph_kernels_unsigned")(lambda: derived_from_graph_kernels(Uint))


@case("trace_viewer@", "framework_op_stats", "hlo_stats", "op_profile")
def cpu_xla_ops():
    """XLA's ops on a CPU are host events."""
    line = (space := Space("host0")).plane("/host:CPU").line("tf_XLAEigen/1", 1)
    for i in range(3):
        line.event("dot.1", i * 100 * US, 50 * US, hlo_op="dot.1", hlo_module="jit_f", program_id=4)
        line.event("add.2", i * 100 * US + 60 * US, 10 * US, hlo_op="add.2", hlo_module="jit_f", program_id=4)
    return space


@case("hlo_stats", "op_profile", "framework_op_stats", "roofline_model")
def tpu_memories():
    """A breakdown of the bytes by memory, a stall, source lines."""
    from wire import message

    def moved(*parts):
        return message((1, [message((1, kind), (2, place), (3, size)) for kind, place, size in parts]))

    space = Space("host0")
    plane = space.plane(
        "/device:TPU:0", device_type_string="TPU v6 Lite", peak_teraflops_per_second=918.0, peak_hbm_bw_gigabytes_per_second=1638.0,
        peak_vmem_rd_bw_gigabytes_per_second=5000.0, peak_vmem_wr_bw_gigabytes_per_second=2500.0,
    )  # fmt: skip
    line = plane.line("XLA Ops", 2)
    breakdown = moved((1, 1, 4_000_000), (2, 1, 1_000_000), (1, 3, 9_000_000), (2, 3, 2_000_000))
    meta = dict(
        program_id=5, symbol_id=1, hlo_category="convolution fusion", flops=6_000_000_000, model_flops=5_000_000_000, bytes_accessed=16_000_000,
        memory_access_breakdown=breakdown, tf_op="jit(f)/layer/dot_general:", source="train.py:12", deduplicated_name="fusion.1",
    )  # fmt: skip
    for i in range(3):
        line.event("%fusion.1 = f32[8]", i * 100 * US, 40 * US, meta=meta, display="fusion.1", dma_stall_duration_ps=4 * US)
        op(line, "copy-start.2", i * 100 * US + 50 * US, 2 * US, "copy-start", 2)
        op(line, "copy-done.2", i * 100 * US + 60 * US, 12 * US, "copy-done", 3)
    return space
