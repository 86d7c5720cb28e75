"""A profile that takes long enough to read for something to happen meanwhile, and another of the same size."""
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "conformance"))
from wire import Space, varint  # noqa: E402

US = 1_000_000
STEP_US = 20_000
OPS_A_STEP = 2_000


def length(index, slower):
    """How long an op takes, in picoseconds: three bytes on the wire in both profiles."""
    return 200_000 + 7_919 * (index % 97) + (900_000 if slower and index % 5 == 0 else 0)


def profile(steps, slower=False):
    """Two devices that run `steps` steps; `slower` ones differ in durations and in nothing else, not even in size."""
    space = Space("host0")
    space.plane("Task Environment", profile_start_time=1_700_000_000_000_000_000)
    for device in range(2):
        plane = space.plane(f"/device:TPU:{device}", device_type_string="TPU v5 Lite", peak_teraflops_per_second=197.0)
        marks, modules = plane.line("Steps", 1), plane.line("XLA Modules", 2)
        for step in range(steps):
            at = step * STEP_US * US
            marks.event(str(step), at, STEP_US * US * 9 // 10)
            modules.event("jit_train(5)", at, STEP_US * US * 9 // 10, meta=dict(program_id=5))
        names = [
            plane.metadata(
                f"%fusion.{i} = f32[8]{{0}} fusion()", f"fusion.{i}",
                program_id=5, symbol_id=i + 1, hlo_category="loop fusion", flops=1_000 * (i + 1), bytes_accessed=512 * (i + 1),
            )
            for i in range(50)
        ]
        ops = plane.line("XLA Ops", 3)
        bodies = [
            (b"\x08" + varint(names[i % 50]), b"\x18" + varint(length(i, slower))) for i in range(OPS_A_STEP)
        ]
        for step in range(steps):
            at = step * STEP_US * US
            for i, (name, duration) in enumerate(bodies):
                ops.all.append(name + b"\x10" + varint(at + i * 9 * US) + duration)
    return space.bytes()


def pair(steps):
    """The bytes of the two."""
    usual, slower = profile(steps), profile(steps, slower=True)
    assert len(usual) == len(slower) and usual != slower
    return usual, slower
