"""Hardware counters: perf_counters, utilization_viewer, kernel_utilization."""
from cases import case
from wire import Space, Uint

TOOLS = ("perf_counters", "utilization_viewer", "kernel_utilization", "tool_names")

# Numbers of a few counters, as the driver gives them.
V6E = {"cycles": 3257466888, "scalar": 3257467008}
V7X = {"cycles": 10134498048}


@case("perf_counters", "tool_names")
def gpu_kernel():
    """One counter on a GPU stream, with a description and a set."""
    space = Space("host0")
    plane = space.plane("/device:GPU:0", global_chip_id=0)
    plane.line("Stream 1").event(
        "KernelA", counter_value=Uint(123), performance_counter_description="Description A", performance_counter_sets="Set A"
    )
    return space
