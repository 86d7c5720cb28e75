//! Peak rates of chips, for profiles that do not state them. A report that uses one says so.
//!
//! GPUs are known by name, architecture, number of cores and memory; one that is not has the rate of its clock and cores.
//!
//! TPU rows are per device as JAX sees one (a chip; on v7x one of the chip's two cores), dense bf16, from the vendor's
//! public system pages. GPU rows are FLOPs of one multiprocessor in one cycle, a fused multiply-add counted as two,
//! dense 16-bit tensor-core rate; with the clock and the core count of the profile they give 756 TFLOP/s for an H100
//! PCIe (114 SMs at 1.62 GHz) and 312 for an A100 (108 at 1.41), which are the vendor's figures.

/// FLOPs of 32-bit floats of one core in one cycle, at most: two vector units of 512 bits, each a fused multiply-add of 16
/// numbers. Units for products of narrow tiles (AMX) do more, of 16-bit numbers, and are not counted.
const CPU_FLOPS_PER_CYCLE: f64 = 64.0;
/// Cycles a second at most: no core sold so far is clocked higher.
const CPU_CLOCK: f64 = 6e9;

/// FLOP/s that no CPU exceeds on so many threads as these, by their names: XLA's pools of threads (`tf_XLA…`) and the thread
/// that calls them; all threads where none is of a pool. A profile says neither clock nor vector width, so that this is an
/// estimate from above. `None` without threads.
#[must_use]
pub fn cpu_flops_at_most<'a>(threads: impl Iterator<Item = &'a str>) -> Option<f64> {
    let (all, pooled) = threads.fold((0_u32, 0_u32), |(all, pooled), name| {
        (all + 1, pooled + u32::from(name.starts_with("tf_XLA")))
    });
    let threads = if pooled > 0 { pooled + 1 } else { all };
    (threads > 0).then(|| f64::from(threads) * CPU_FLOPS_PER_CYCLE * CPU_CLOCK)
}

/// Peak rates of a TPU.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tpu {
    /// `device_type_string` of the profile.
    pub type_name: &'static str,
    /// The name in cloud consoles and topologies.
    pub short_name: &'static str,
    /// Dense bf16 FLOP/s.
    pub bf16_flops: f64,
    /// HBM bytes a second.
    pub hbm_bytes_per_s: f64,
    /// HBM bytes.
    pub hbm_bytes: f64,
    /// Rows and columns of one matrix unit.
    pub matrix_edge: u64,
}

const GIB: f64 = (1_u64 << 30) as f64;

/// The TPUs known.
pub const TPUS: &[Tpu] = &[
    Tpu {
        type_name: "TPU v3",
        short_name: "v3",
        bf16_flops: 123e12,
        hbm_bytes_per_s: 900e9,
        hbm_bytes: 32.0 * GIB,
        matrix_edge: 128,
    },
    Tpu {
        type_name: "TPU v4",
        short_name: "v4",
        bf16_flops: 275e12,
        hbm_bytes_per_s: 1200e9,
        hbm_bytes: 32.0 * GIB,
        matrix_edge: 128,
    },
    Tpu {
        type_name: "TPU v5 Lite",
        short_name: "v5e",
        bf16_flops: 197e12,
        hbm_bytes_per_s: 819e9,
        hbm_bytes: 16.0 * GIB,
        matrix_edge: 128,
    },
    Tpu {
        type_name: "TPU v5",
        short_name: "v5p",
        bf16_flops: 459e12,
        hbm_bytes_per_s: 2765e9,
        hbm_bytes: 95.0 * GIB,
        matrix_edge: 128,
    },
    Tpu {
        type_name: "TPU v6 Lite",
        short_name: "v6e",
        bf16_flops: 918e12,
        hbm_bytes_per_s: 1638e9,
        hbm_bytes: 32.0 * GIB,
        matrix_edge: 256,
    },
    Tpu {
        type_name: "TPU v7x",
        short_name: "v7x",
        bf16_flops: 1153.5e12,
        hbm_bytes_per_s: 3690e9,
        hbm_bytes: 96.0 * GIB,
        matrix_edge: 256,
    },
];

/// The TPU with this device type or short name, alone or behind `TPU `: profiles of a v5p say `TPU v5` or `TPU v5p`, by the
/// version that wrote them.
#[must_use]
pub fn tpu(name: &str) -> Option<&'static Tpu> {
    let short = name.get(..4).filter(|p| p.eq_ignore_ascii_case("TPU ")).map_or(name, |_| &name[4..]);
    TPUS.iter().find(|t| t.type_name.eq_ignore_ascii_case(name) || t.short_name.eq_ignore_ascii_case(short))
}

/// What a GPU's vendor says of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gpu {
    /// The name in data sheets.
    pub name: &'static str,
    /// Its architecture as profiles state it: compute capability of NVIDIA's, the first digits of AMD's `gfx` number.
    pub capability: (i64, i64),
    /// True of AMD's.
    pub is_amd: bool,
    /// Multiprocessors or compute units.
    pub cores: i64,
    /// Size of its memory, as the vendor names it: GiB.
    pub memory_gib: f64,
    /// Dense bf16 FLOP/s on matrix units, accumulated in fp32 (fp16 of those before compute capability 8.0).
    pub flops: f64,
    /// Bytes a second to and from its memory.
    pub hbm: f64,
}

const fn nvidia(
    name: &'static str,
    capability: (i64, i64),
    cores: i64,
    memory_gib: f64,
    teraflops: f64,
    gigabytes_per_s: f64,
) -> Gpu {
    Gpu {
        name,
        capability,
        is_amd: false,
        cores,
        memory_gib,
        flops: teraflops * 1e12,
        hbm: gigabytes_per_s * 1e9,
    }
}

const fn amd(
    name: &'static str,
    capability: (i64, i64),
    cores: i64,
    memory_gib: f64,
    teraflops: f64,
    gigabytes_per_s: f64,
) -> Gpu {
    Gpu { is_amd: true, ..nvidia(name, capability, cores, memory_gib, teraflops, gigabytes_per_s) }
}

/// The GPUs known. Sources: NVIDIA's data sheets of each (where they print a rate with sparsity, half of it), and for GeForce the
/// appendices of the Ada and Blackwell architecture white papers; AMD's Instinct data sheets and the CDNA 3 and CDNA 4 white
/// papers. A device of several dies (MI250X) is one row a die, as profiles show it.
pub const GPUS: &[Gpu] = &[
    nvidia("V100 SXM2", (7, 0), 80, 16.0, 125.0, 900.0),
    nvidia("V100 SXM2 32GB", (7, 0), 80, 32.0, 125.0, 900.0),
    nvidia("T4", (7, 5), 40, 16.0, 65.0, 320.0),
    nvidia("A100 40GB", (8, 0), 108, 40.0, 312.0, 1555.0),
    nvidia("A100 80GB", (8, 0), 108, 80.0, 312.0, 2039.0),
    nvidia("A30", (8, 0), 56, 24.0, 165.0, 933.0),
    nvidia("A10", (8, 6), 72, 24.0, 125.0, 600.0),
    nvidia("A10G", (8, 6), 80, 24.0, 70.0, 600.0),
    nvidia("A40", (8, 6), 84, 48.0, 149.7, 696.0),
    nvidia("GeForce RTX 3090", (8, 6), 82, 24.0, 71.0, 936.0),
    nvidia("L4", (8, 9), 58, 24.0, 121.0, 300.0),
    nvidia("L40S", (8, 9), 142, 48.0, 362.0, 864.0),
    nvidia("GeForce RTX 4090", (8, 9), 128, 24.0, 165.2, 1008.0),
    nvidia("GeForce RTX 4080", (8, 9), 76, 16.0, 97.5, 716.8),
    nvidia("H100 SXM", (9, 0), 132, 80.0, 989.4, 3350.0),
    nvidia("H100 PCIe", (9, 0), 114, 80.0, 756.0, 2000.0),
    nvidia("H100 NVL", (9, 0), 132, 94.0, 835.5, 3900.0),
    nvidia("H200", (9, 0), 132, 141.0, 989.4, 4800.0),
    nvidia("GH200 96GB", (9, 0), 132, 96.0, 989.4, 4000.0),
    nvidia("GH200 144GB", (9, 0), 132, 144.0, 989.4, 4900.0),
    nvidia("B200", (10, 0), 148, 180.0, 2250.0, 8000.0),
    nvidia("GB200", (10, 0), 148, 186.0, 2500.0, 8000.0),
    nvidia("B300", (10, 3), 148, 288.0, 2500.0, 8000.0),
    nvidia("GeForce RTX 5090", (12, 0), 170, 32.0, 209.5, 1792.0),
    nvidia("GeForce RTX 5080", (12, 0), 84, 16.0, 112.6, 960.0),
    nvidia("GeForce RTX 5070 Ti", (12, 0), 70, 16.0, 87.9, 896.0),
    nvidia("GeForce RTX 5070", (12, 0), 48, 12.0, 61.7, 672.0),
    amd("MI100", (9, 0), 120, 32.0, 184.6, 1229.0),
    amd("MI210", (9, 0), 104, 64.0, 181.0, 1638.0),
    amd("MI250X (one die)", (9, 0), 110, 64.0, 191.5, 1638.0),
    amd("MI300A", (9, 4), 228, 128.0, 980.6, 5300.0),
    amd("MI300X", (9, 4), 304, 192.0, 1307.4, 5300.0),
    amd("MI325X", (9, 4), 304, 256.0, 1307.4, 6000.0),
    amd("MI350X", (9, 5), 256, 288.0, 2306.9, 8000.0),
    amd("MI355X", (9, 5), 256, 288.0, 2516.6, 8000.0),
];

/// What a profile states of a GPU, as far as it does.
#[derive(Debug, Clone, Copy, Default)]
pub struct Stated<'a> {
    /// True of AMD's.
    pub is_amd: bool,
    /// Its name.
    pub model: Option<&'a str>,
    /// See [`Gpu::capability`].
    pub capability: Option<(i64, i64)>,
    /// Multiprocessors or compute units.
    pub cores: Option<i64>,
    /// Bytes of memory.
    pub memory_bytes: Option<f64>,
    /// Bytes a second.
    pub bandwidth: Option<f64>,
    /// Cycles a second.
    pub clock_hz: Option<f64>,
}

/// The GPU that a profile's facts are of: by its architecture and number of cores, and of several such the one whose memory, speed of
/// memory and clock fit best. A memory that is a quarter off fits none.
#[must_use]
pub fn gpu(stated: &Stated<'_>) -> Option<&'static Gpu> {
    let off = |a: f64, b: f64| (a / b).ln().abs();
    let capability = stated.capability.or_else(|| match stated.model {
        Some(name) if name.contains("gfx942") => Some((9, 4)),
        Some(name) if name.contains("gfx950") => Some((9, 5)),
        Some(name) if ["gfx90a", "gfx908"].iter().any(|arch| name.contains(arch)) => Some((9, 0)),
        _ => None,
    })?;
    let is_named = |gpu: &Gpu| {
        let model = stated.model.unwrap_or_default();
        gpu.name.split(' ').next().is_some_and(|word| model.contains(word))
    };
    let misfit = |gpu: &Gpu| {
        let memory = stated.memory_bytes.map_or(0.0, |bytes| off(bytes, gpu.memory_gib * GIB));
        // ROCm states half of the bandwidth: it does not count that memory moves data twice a cycle.
        let speed = stated.bandwidth.map_or(0.0, |rate| match gpu.is_amd {
            true => off(rate, gpu.hbm).min(off(2.0 * rate, gpu.hbm)),
            false => off(rate, gpu.hbm),
        });
        // AMD's peaks are those at the clock that is stated.
        let per_cycle = amd_per_cycle(gpu.capability, gpu.cores);
        let clock = stated.clock_hz.zip(per_cycle).map_or(0.0, |(hz, flops)| match gpu.is_amd {
            true => off(hz * flops * gpu.cores as f64, gpu.flops),
            false => 0.0,
        });
        (memory <= 0.25).then_some(memory + speed + clock - if is_named(gpu) { 1.0 } else { 0.0 })
    };
    let same = |gpu: &&Gpu| {
        gpu.is_amd == stated.is_amd
            && gpu.capability == capability
            && stated.cores.is_some_and(|cores| cores == gpu.cores)
    };
    let fitting = GPUS.iter().filter(same).filter_map(|gpu| Some((gpu, misfit(gpu)?)));
    fitting.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(gpu, _)| gpu)
}

fn amd_per_cycle(capability: (i64, i64), cores: i64) -> Option<f64> {
    match (capability, cores) {
        ((9, 4), _) => amd_flops_per_cycle("gfx942"),
        ((9, 5), _) => amd_flops_per_cycle("gfx950"),
        _ => None,
    }
}

/// FLOPs of one AMD compute unit in one cycle by what profiles state as compute capability.
#[must_use]
pub fn amd_flops_per_cycle_of((major, minor): (i64, i64)) -> Option<f64> {
    amd_per_cycle((major, minor), 0)
}

/// Dense fp16 tensor-core FLOPs of one NVIDIA SM in one cycle, by compute capability; CUDA cores before 7.0.
const NVIDIA: &[((i64, i64), f64)] = &[
    ((10, 0), 8192.0),
    ((9, 0), 4096.0),
    ((8, 9), 1024.0),
    ((8, 6), 1024.0),
    ((8, 0), 2048.0),
    ((7, 5), 1024.0),
    ((7, 0), 1024.0),
    ((6, 1), 256.0),
    ((6, 0), 256.0),
    ((5, 0), 256.0),
    ((3, 0), 384.0),
    ((2, 0), 64.0),
];

/// Dense 16-bit matrix FLOPs of one AMD compute unit in one cycle, by architecture name.
const AMD: &[(&str, f64)] = &[("gfx908", 1024.0), ("gfx90a", 1024.0), ("gfx942", 2048.0), ("gfx950", 4096.0)];

/// FLOPs of one SM in one cycle. A later minor version of a known major one counts as that; a later major one is unknown.
#[must_use]
pub fn nvidia_flops_per_cycle((major, minor): (i64, i64)) -> Option<f64> {
    let row = NVIDIA.iter().find(|((a, b), _)| *a == major && *b <= minor)?;
    Some(row.1)
}

/// The same of the latest known version that is not later than this one, of the oldest for a version before all.
#[must_use]
pub fn nearest_nvidia_flops_per_cycle(capability: (i64, i64)) -> f64 {
    let row = NVIDIA.iter().find(|(known, _)| *known <= capability).or(NVIDIA.last());
    row.map_or(0.0, |row| row.1)
}

/// FLOPs of one compute unit in one cycle, for a device name that holds an architecture name.
#[must_use]
pub fn amd_flops_per_cycle(name: &str) -> Option<f64> {
    AMD.iter().find(|(arch, _)| name.contains(arch)).map(|row| row.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tpus_are_known_by_each_of_their_names() {
        let short = |name: &str| tpu(name).map(|chip| chip.short_name);
        for name in ["TPU v5", "TPU v5p", "tpu V5P", "v5p"] {
            assert_eq!(short(name), Some("v5p"), "{name}");
        }
        assert_eq!(
            [short("TPU v5 Lite"), short("TPU v5e"), short("TPU v6e")],
            [Some("v5e"), Some("v5e"), Some("v6e")]
        );
        assert_eq!([short("TPU v5x"), short("TPU"), short("GPU v5p"), short("")], [None; 4]);
    }

    #[test]
    fn gpu_peaks_are_the_vendors_figures() {
        let peak = |per_cycle: f64, ghz: f64, cores: f64| per_cycle * ghz * cores / 1e3;
        let nvidia = |cc| nvidia_flops_per_cycle(cc).unwrap();
        assert!((peak(nvidia((9, 0)), 1.62, 114.0) - 756.0).abs() < 1.0);
        assert!((peak(nvidia((8, 0)), 1.41, 108.0) - 312.0).abs() < 1.0);
        assert!((peak(nvidia((10, 3)), 1.83, 148.0) - 2218.0).abs() < 1.0);
        let amd = |name| amd_flops_per_cycle(name).unwrap();
        assert!((peak(amd("gfx942:sramecc+"), 2.1, 304.0) - 1307.4).abs() < 1.0);
        assert!((peak(amd("gfx950"), 2.4, 256.0) - 2516.6).abs() < 1.0);
        assert_eq!(amd_flops_per_cycle("AMD GPU"), None);
        assert_eq!(nvidia_flops_per_cycle((12, 0)), None);
        // A Tesla C2050: 14 SMs of 32 cores at 1.15 GHz, 1030 GFLOP/s.
        assert!((peak(nvidia((2, 0)), 1.15, 14.0) - 1.0304).abs() < 1e-6);
        let nearest = [(12, 0), (8, 7), (4, 0), (1, 3)].map(nearest_nvidia_flops_per_cycle);
        assert_eq!(nearest, [8192.0, 1024.0, 384.0, 64.0]);
    }

    fn stated(capability: (i64, i64), cores: i64, memory_bytes: f64, bandwidth: f64) -> Stated<'static> {
        Stated {
            capability: Some(capability),
            cores: Some(cores),
            memory_bytes: Some(memory_bytes),
            bandwidth: Some(bandwidth),
            ..Stated::default()
        }
    }

    #[test]
    fn gpus_are_known_by_their_facts() {
        let name = |stated: Stated<'_>| gpu(&stated).map(|gpu| gpu.name);
        assert_eq!(name(stated((9, 0), 132, 84_978_958_336.0, 3_352_320e6)), Some("H100 SXM"));
        assert_eq!(name(stated((9, 0), 132, 91_268_055_040.0, 3_352_320e6)), Some("H100 SXM"));
        assert_eq!(name(stated((9, 0), 132, 150e9, 4_800e9)), Some("H200"));
        assert_eq!(name(stated((9, 0), 114, 85e9, 2_039e9)), Some("H100 PCIe"));
        assert_eq!(name(stated((7, 5), 40, 15_843_721_216.0, 320_064e6)), Some("T4"));
        assert_eq!(name(stated((7, 0), 80, 16_945_512_448.0, 898_048e6)), Some("V100 SXM2"));
        assert_eq!(name(stated((12, 0), 170, 33.6e9, 1_792e9)), Some("GeForce RTX 5090"));
        assert_eq!(name(stated((9, 0), 133, 85e9, 3_352e9)), None);
        let amd = |stated: Stated<'static>, ghz: f64| {
            name(Stated { is_amd: true, clock_hz: Some(ghz * 1e9), ..stated })
        };
        // What ROCm states of the bandwidth is half of it.
        assert_eq!(amd(stated((9, 4), 304, 206_141_652_992.0, 2_662_400e6), 2.1), Some("MI300X"));
        assert_eq!(amd(stated((9, 4), 304, 206_141_652_992.0, 5_324_800e6), 2.1), Some("MI300X"));
        assert_eq!(amd(stated((9, 4), 304, 274e9, 3_000e9), 2.1), Some("MI325X"));
        assert_eq!(amd(stated((9, 5), 256, 309_220_868_096.0, 4_096_000e6), 2.4), Some("MI355X"));
        assert_eq!(amd(stated((9, 5), 256, 309_220_868_096.0, 4_096_000e6), 2.2), Some("MI350X"));
    }

    #[test]
    fn tpus_are_found_by_both_names() {
        assert_eq!(tpu("TPU v5 Lite").map(|t| t.short_name), Some("v5e"));
        assert_eq!(tpu("v6e").map(|t| t.type_name), Some("TPU v6 Lite"));
        assert_eq!(tpu("TPU v99"), None);
    }
}
