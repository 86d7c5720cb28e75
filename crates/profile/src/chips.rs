//! Peak rates of chips, for profiles that do not state them. A report that uses one says so.
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

/// The TPU with this device type or short name.
#[must_use]
pub fn tpu(name: &str) -> Option<&'static Tpu> {
    TPUS.iter().find(|t| t.type_name.eq_ignore_ascii_case(name) || t.short_name.eq_ignore_ascii_case(name))
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

    #[test]
    fn tpus_are_found_by_both_names() {
        assert_eq!(tpu("TPU v5 Lite").map(|t| t.short_name), Some("v5e"));
        assert_eq!(tpu("v6e").map(|t| t.type_name), Some("TPU v6 Lite"));
        assert_eq!(tpu("TPU v99"), None);
    }
}
