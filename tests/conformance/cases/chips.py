"""What a chip can do: peaks and names by device, from capabilities or from the plane's own figures."""
from cases import case
from wire import Space

US = 1_000_000


def gpu(vendor="Nvidia", major=9, minor=0, clock_khz=1_620_000, cores=114, memory=2_000_000_000_000, **more):
    """One kernel with known FLOPs and bytes on a GPU with these capabilities."""
    space = Space("host0")
    plane = space.plane(
        "/device:GPU:0", device_vendor=vendor, compute_cap_major=major, compute_cap_minor=minor, clock_rate=clock_khz,
        core_count=cores, memory_bandwidth=memory, memory_size=80 << 30, **more,
    )  # fmt: skip
    line = plane.line("Stream #7(Compute)", 7)
    for at, name in ((0, "dot.1"), (40 * US, "add.2")):
        line.event(
            f"{name}_kernel", at, 20 * US, hlo_op=name, hlo_module="jit_f", program_id=1, correlation_id=at + 1,
            flops=2_000_000_000, bytes_accessed=30_000_000, tf_op=f"jit(f)/{name.split('.')[0]}",
            kernel_details="regs:32 static_shared:0 dynamic_shared:0 grid:8,1,1 block:128,1,1 occ_pct:50",
        )  # fmt: skip
    space.plane("/host:CPU").line("main").event("jit_f", 0, 90 * US)
    return space


GPUS = {
    "blackwell": dict(major=10, clock_khz=1_830_000, cores=148),
    "blackwell_later": dict(major=10, minor=7, clock_khz=1_830_000, cores=148),
    "blackwell_ultra": dict(major=10, minor=3, clock_khz=1_920_000, cores=160),
    "cc_12": dict(major=12, clock_khz=2_400_000, cores=170),
    "hopper": dict(),
    "ada": dict(major=8, minor=9, clock_khz=2_520_000, cores=142),
    "ampere": dict(major=8, clock_khz=1_410_000, cores=108, gpu_device_name="NVIDIA A100-SXM4-40GB"),
    "turing": dict(major=7, minor=5, clock_khz=1_590_000, cores=40),
    "volta": dict(major=7, clock_khz=1_530_000, cores=80),
    "fermi": dict(major=2, clock_khz=1_150_000, cores=14),
    "cc_4": dict(major=4, clock_khz=1_000_000, cores=10),
    "cc_1": dict(major=1, minor=3, clock_khz=1_000_000, cores=10),
    "mi100": dict(vendor="AMD", gpu_device_name="gfx908:sramecc+:xnack-", clock_khz=1_502_000, cores=120),
    "mi250": dict(vendor="AMD", gpu_device_name="gfx90a", clock_khz=1_700_000, cores=104),
    "mi300x": dict(vendor="AMD", major=9, minor=4, gpu_device_name="gfx942", clock_khz=2_100_000, cores=304),
    "mi355x": dict(vendor="AMD", major=9, minor=5, gpu_device_name="gfx950", clock_khz=2_400_000, cores=256),
    "amd_without_a_name": dict(vendor="AMD", major=9, clock_khz=2_100_000, cores=304),
    "amd_malformed_name": dict(vendor="AMD", major=9, gpu_device_name=":sramecc+", clock_khz=2_100_000, cores=304),
    "nobody": dict(vendor="Acme", major=3, clock_khz=1_000_000, cores=10),
    "peaks_of_the_plane": dict(
        peak_teraflops_per_second=900.0, peak_hbm_bw_gigabytes_per_second=3000.0, peak_sram_rd_bw_gigabytes_per_second=30000.0,
        peak_sram_wr_bw_gigabytes_per_second=30000.0,
    ),
    "peaks_of_zero": dict(peak_teraflops_per_second=0.0, peak_hbm_bw_gigabytes_per_second=0.0),
}  # fmt: skip

for label, capabilities in GPUS.items():
    case("roofline_model", "overview_page", name=f"gpu_{label}")(lambda capabilities=capabilities: gpu(**capabilities))


def tpu(kind, **peaks):
    """Two steps of two ops on one core that states its peaks."""
    space = Space("host0")
    plane = space.plane("/device:TPU:0", device_type_string=kind, **peaks)
    steps, modules, ops = plane.line("Steps", 0), plane.line("XLA Modules", 1), plane.line("XLA Ops", 2)
    for i in range(2):
        at = i * 100 * US
        steps.event(str(i), at, 95 * US)
        modules.event("jit_f(7)", at, 90 * US, meta=dict(program_id=7), run_id=i)
        meta = dict(program_id=7, symbol_id=1, hlo_category="convolution", flops=8_000_000_000, bytes_accessed=4_000_000, tf_op="jit(f)/dot:")
        ops.event("%dot.1 = f32[8]{0} dot(%a, %b)", at, 60 * US, meta=meta, display="dot.1")
        meta = dict(program_id=7, symbol_id=2, hlo_category="loop fusion", flops=1_000_000, bytes_accessed=9_000_000, tf_op="jit(f)/add:")
        ops.event("%add.2 = f32[8]{0} add(%a, %b)", at + 60 * US, 25 * US, meta=meta, display="add.2")
    return space


@case("roofline_model", "overview_page", "hlo_stats", "op_profile")
def tpu_with_peaks():
    """Peaks of compute and of every memory from the plane's own figures."""
    return tpu(
        "TPU v6 Lite", peak_teraflops_per_second=918.0, peak_hbm_bw_gigabytes_per_second=1638.0,
        peak_vmem_rd_bw_gigabytes_per_second=5000.0, peak_vmem_wr_bw_gigabytes_per_second=2500.0, has_merged_vmem=1, has_megacore=0,
    )  # fmt: skip


@case("roofline_model", "overview_page")
def tpu_without_peaks():
    """Nothing is derived for a TPU that states no peaks."""
    return tpu("TPU v4")


@case("roofline_model")
def tpu_with_cmem():
    """CMEM peaks and megacore."""
    return tpu(
        "TPU v4", peak_teraflops_per_second=275.0, peak_hbm_bw_gigabytes_per_second=1228.0,
        peak_cmem_rd_bw_gigabytes_per_second=4000.0, peak_cmem_wr_bw_gigabytes_per_second=2000.0, has_megacore=1,
    )  # fmt: skip
