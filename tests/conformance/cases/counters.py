"""Hardware counters: perf_counters, utilization_viewer, kernel_utilization."""
from cases import case
from wire import Ref, Space, Uint

TOOLS = ("perf_counters", "utilization_viewer", "kernel_utilization", "tool_names")
KERNEL = (
    "=kernel_utilization?duration_us=100",
    "=kernel_utilization?duration_us=100&force_duration=true",
    "=kernel_utilization?kernel=other",
    "=kernel_utilization?device_id=3&kernel=default_kernel",
    "=kernel_utilization?device_id=4",
)

# Numbers of counters, as the driver gives them.
V6E_CYCLES, V6E_FADD_0 = 3257466888, 3257468576
V7X_CYCLES, V7X_SCALAR_0 = 2847490056, 2791874648


@case("perf_counters", "tool_names")
def gpu_kernel():
    """One counter on a GPU stream, with a description and a set."""
    space = Space("host0")
    plane = space.plane("/device:GPU:0", global_chip_id=0)
    plane.line("Stream 1").event(
        "KernelA", counter_value=Uint(123), performance_counter_description="Description A", performance_counter_sets="Set A"
    )
    return space


@case("perf_counters", hosts=("host0", "host1"))
def two_hosts():
    """Chips by id or by device, a plane without either, values of every kind."""
    spaces = {}
    for number, host in enumerate(("host0", "host1")):
        space = spaces[host] = Space(host)
        plane = space.plane("/device:TPU:0", device_id=number, device_type_string="TPU v4")
        line = plane.line("kernel", 7)
        line.event("Large", counter_value=Uint(2**63 + 12345), performance_counter_sets=Ref("Set"))
        line.event("Negative", counter_value=-5)
        line.event("Zero", counter_value=0)
        line.event("Float", counter_value=2.75)
        line.event("NoValue", other=1)
        space.plane("/device:TPU:1").line("kernel", 8).event("Lost", counter_value=1)
        space.plane("/device:GPU:0", global_chip_id=5, device_id=9).line("stream", 1).event("Gpu", counter_value=3)
    return spaces


def samples(kind, *lines, host="host0"):
    """Lines of (name, {counter: value}) on one chip."""
    space = Space(host)
    plane = space.plane("/device:TPU:0", device_id=3, device_type_string=kind)
    for number, (name, values) in enumerate(lines):
        line = plane.line(name, number + 10)
        for counter, value in values.items():
            line.event(f"c{counter}", performance_counter_id=Uint(counter), counter_value=value)
    return space


@case(*TOOLS)
def v7x_scalar():
    """Cycles and scalar instructions."""
    return samples("TPU v7x", ("sample", {V7X_CYCLES: 1000.0, V7X_SCALAR_0: 500.0}))


@case(*TOOLS)
def v6e_vector():
    """Cycles and vector additions."""
    return samples("TPU v6 Lite", ("sample", {V6E_CYCLES: 1000.0, V6E_FADD_0: 250.0}))


@case(*TOOLS)
def values_out_of_range():
    """Doubles below zero and above 64 bits are held inside."""
    return samples("TPU v7x", ("sample", {V7X_CYCLES: 1000.0, V7X_SCALAR_0: -500.0, V7X_SCALAR_0 + 8: 1e30}))


@case(*TOOLS)
def kernel_with_ops():
    """Ops beside the counters say how long the kernel took."""
    space = samples("TPU v6 Lite", ("sample", {V6E_CYCLES: Uint(1000), V6E_CYCLES + 80: Uint(300)}))
    plane = space.planes[0]
    plane.line("Steps", 3).event("1", 0, 9_000_000)
    plane.line("XLA Ops", 4).event("op", 6_000_000, 7_000_000).event("op", 0, 5_000_000)
    plane = space.plane("/device:TPU:4", device_type_string="TPU v6 Lite")
    plane.line("k", 4).event("c", 0, 44_000, performance_counter_id=Uint(V6E_CYCLES), counter_value=2000)
    return space


@case("perf_counters?names_only=1&device_type=v6e", "perf_counters?names_only=1&device_type=v7x", "perf_counters?names_only=1")
def names():
    """The counters of a kind of chip, and a question that names none."""
    return samples("TPU v7x", ("sample", {V7X_CYCLES: 1.0}))


@case(*TOOLS)
def another_chip():
    """A chip without formulas."""
    return samples("TPU v5", ("sample", {V6E_CYCLES: 1000.0}))


def many(kind, stride, starts):
    """Every eighth address near these starts, with values that tell counters apart."""
    values = {}
    for start, count in starts:
        for i in range(count):
            values[start + 8 * i] = Uint((start // 8 + 131 * i) % 9973 + 1)
    lines = [("k1", values), ("k2", {k: Uint(v * 3 % 7919 + 1) for k, v in values.items() if k // 8 % stride})]
    return samples(kind, *lines)


@case(*TOOLS, *KERNEL)
def v6e_everything():
    """All counters that the formulas of this chip read, in two samples."""
    blocks = [(3257466888, 240), (2953257136, 40)]
    blocks += [(3019980808 + hbm * 33554432 + i * 2097152, 14) for hbm in range(2) for i in range(16)]
    blocks += [(3490185224 + core * 44040192 + i * 2097152, 140) for core in range(2) for i in range(16)]
    blocks += [(3532193800 + core * 44040192, 8) for core in range(2)]
    return many("TPU v6 Lite", 5, blocks)


@case(*TOOLS, *KERNEL)
def v7x_everything():
    """The same for the later chip, both dies."""
    die = 536870912
    blocks = []
    for d in range(2):
        blocks += [(2791874568 + d * die, 240), (2847490056 + d * die, 10)]
        blocks += [(2705724440 + d * die + hbm * 2097152 + i * 131072, 8) for hbm in range(4) for i in range(16)]
        for core in range(2):
            start = d * die + core * 27262976
            blocks += [(2817921032 + start, 8)]
            blocks += [(2792513544 + start + i * 1048576, 12) for i in range(16)]
            blocks += [(2809282568 + start + i * 524288, 16) for i in range(16)]
    blocks += [(3238449440 + i * 32768, 10) for i in range(4)]
    return many("TPU v7x", 7, blocks)
