"""What a run says about itself: environment, diagnostics, suggestions, visibility, allocators."""
from cases import case
from wire import Space, Uint

US = 1_000_000
MS = 1_000_000_000


@case("overview_page")
def errors_of_the_capture():
    """Errors in the file become diagnostics, each once."""
    space = Space("host0", errors=["lost events", "lost events", "no device"])
    space.plane("/host:CPU").line("main", 1).event("f", 0, US)
    return space


def gpus(host, count):
    space = Space(host)
    for i in range(count):
        plane = space.plane(f"/device:GPU:{i}", device_vendor="Nvidia", compute_cap_major=9, compute_cap_minor=0, clock_rate=1_600_000, core_count=132)
        plane.line("Stream #1(Compute)", 1).event("k", 0, 10 * US, hlo_op="add.1", hlo_module="jit_f")
    return space


@case("overview_page", "kernel_stats", hosts=("host0", "host1"))
def two_hosts_of_gpus():
    """Hosts and devices are counted together."""
    return {"host0": gpus("host0", 2), "host1": gpus("host1", 4)}


@case("overview_page", "pod_viewer", hosts=("host0", "host1"))
def a_host_without_devices():
    """One host has GPUs, the other none."""
    other = Space("host1")
    other.plane("/host:CPU").line("main", 1).event("f", 0, US)
    return {"host0": gpus("host0", 1), "host1": other}


@case("overview_page")
def utilization_from_the_host():
    """MXU and HBM utilisation as the driver wrote them on the host's plane."""
    space = Space("host0")
    space.plane("/host:CPU", matrix_unit_utilization_percent=42.5, hbm_utilization_percent=17.25).line("main", 1).event("f", 0, US)
    plane = space.plane("/device:TPU:0", device_type_string="TPU v5 Lite", peak_teraflops_per_second=197.0)
    plane.line("XLA Ops", 1).event("%a.1", 0, MS, meta=dict(program_id=1, symbol_id=1, hlo_category="convolution"), display="a.1")
    return space


def barriers(host, share, steps=5):
    """`barrier-cores` takes this share of every step."""
    space = Space(host)
    plane = space.plane("/device:TPU:0", device_type_string="TPU v5")
    line, ops = plane.line("Steps", 0), plane.line("XLA Ops", 1)
    for i in range(steps):
        line.event(str(i), i * MS, MS, group_id=i, device_duration_ps=Uint(MS))
        for name, start, length in (("barrier-cores", 0, int(share * MS)), ("fusion.1", MS // 2, MS // 4), ("barrier-cores", MS - US, 1250)):
            meta = dict(program_id=1, symbol_id=len(name), hlo_category="loop fusion")
            ops.event(name, i * MS + start, length, meta=meta, display=name, group_id=i, device_duration_ps=Uint(length))
    return space


@case("smart_suggestion")
def barriers_are_long():
    """A fifth of every step is spent at a barrier."""
    return barriers("host0", 0.2)


@case("smart_suggestion")
def barriers_are_short():
    """A twentieth: no suggestion."""
    return barriers("host0", 0.05)


@case("smart_suggestion", hosts=("host0", "host1", "host2", "host3"))
def barriers_with_a_straggler():
    """Three hosts wait for the fourth."""
    return {f"host{i}": barriers(f"host{i}", share) for i, share in enumerate((0.4, 0.41, 0.39, 0.02))}


def trace():
    """Long and short events on a device and on the host."""
    space = Space("host0")
    plane = space.plane("/device:TPU:0", device_type_string="TPU v5")
    line = plane.line("XLA Ops", 1)
    for i in range(50):
        line.event(f"op.{i % 7}", i * MS, MS // 2 if i % 10 == 0 else 50_000, meta=dict(program_id=1, symbol_id=i % 7, hlo_category="copy"))
    host = space.plane("/host:CPU").line("main", 1)
    for i in range(20):
        host.event("call", i * 2 * MS, MS)
        host.event("inner", i * 2 * MS + US, 30_000, note=f"call {i}")
    return space


VIEWS = ("trace_viewer@?resolution=0", "trace_viewer@?resolution=8000", "trace_viewer@?resolution=20")
case(*VIEWS, "trace_viewer@?resolution=8000&start_time_ms=10&end_time_ms=20", "trace_viewer", name="visibility")(trace)


@case("memory_profile")
def allocations():
    """One allocator: an allocation, its release, a larger allocation at the peak."""
    line = (space := Space("host0")).plane("/host:CPU").line("main", 0)
    common = dict(bytes_reserved=2000, allocator_name="GPU_0_bfc")
    line.event(
        "MemoryAllocation", 40_000, 1_000, bytes_allocated=3000, bytes_available=5000, peak_bytes_in_use=8500, requested_bytes=200,
        allocation_bytes=256, addr=222333, id=-93746, data_type=1, tf_op="foo/bar", region_type="output", shape="[3, 3, 512, 512]", **common,
    )  # fmt: skip
    line.event(
        "MemoryDeallocation", 50_000, 1_000, bytes_allocated=2744, bytes_available=5256, peak_bytes_in_use=8500, requested_bytes=200,
        allocation_bytes=256, addr=222333, id=0, data_type=0, region_type="", shape="", **common,
    )  # fmt: skip
    line.event(
        "MemoryAllocation", 70_000, 1_000, bytes_allocated=5000, bytes_available=3000, peak_bytes_in_use=9500, requested_bytes=300,
        allocation_bytes=300, addr=345678, id=-93746, data_type=9, tf_op="mul_grad/Sum", region_type="temp", shape="[1, 2]", **common,
    )  # fmt: skip
    return space


@case("memory_profile")
def two_allocators():
    """Allocators by name and by device, over three steps."""
    line = (space := Space("host0")).plane("/host:CPU").line("main", 0)
    for i in range(12):
        held = 1000 * (i % 4 + 1)
        stats = dict(bytes_reserved=100, bytes_allocated=held, bytes_available=9000 - held, peak_bytes_in_use=5000, requested_bytes=900,
                     allocation_bytes=1000, addr=4096 * (i % 4), fragmentation=0.25, id=i // 4, data_type=1, region_type="temp",
                     tf_op=f"op{i % 4}", shape="[8]")  # fmt: skip
        which = dict(allocator_name="GPU_0_bfc") if i % 2 else dict(index_on_host=1)
        line.event("MemoryAllocation" if i % 4 < 2 else "MemoryDeallocation", i * 1000_000, 1000, **stats, **which)
    return space
