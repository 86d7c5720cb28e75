//! What the devices of a run could do at most.

use haloscope_profile::chips;
use haloscope_profile::{HostId, Plane, PlaneKind, Profile, Stat};

/// Peak rates of one device of the run.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct PerfEnv {
    /// TFLOP/s.
    pub(crate) tera_flops: f64,
    /// GB/s (10^9): HBM, SRAM read, SRAM write, CMEM read, CMEM write, VMEM read, VMEM write. GPUs have the first three.
    pub(crate) giga_bytes: Vec<f64>,
    /// The chip has a CMEM.
    pub(crate) has_cmem: bool,
    /// The chip's VMEM is one for all that its cores do.
    pub(crate) has_merged_vmem: bool,
    /// Two cores act as one.
    pub(crate) has_megacore: bool,
}

/// Index in [`PerfEnv::giga_bytes`].
pub(crate) mod bandwidth {
    pub(crate) const HBM: usize = 0;
    pub(crate) const SRAM_READ: usize = 1;
    pub(crate) const SRAM_WRITE: usize = 2;
    pub(crate) const CMEM_READ: usize = 3;
    pub(crate) const CMEM_WRITE: usize = 4;
    pub(crate) const VMEM_READ: usize = 5;
    pub(crate) const VMEM_WRITE: usize = 6;
}

impl PerfEnv {
    /// The peaks of these hosts' devices. Of several hosts that with any; what kinds of memory the chip has is then not
    /// said, as in XProf, whose sum over hosts leaves it out.
    #[must_use]
    pub(crate) fn new(profile: &Profile, hosts: &[HostId]) -> Self {
        let mut parts = hosts.iter().map(|&host| Self::of_host(profile, host));
        if hosts.len() == 1 {
            return parts.next().unwrap_or_default();
        }
        let mut all = Self::default();
        for part in parts {
            if part.tera_flops > 0.0 {
                all.tera_flops = part.tera_flops;
            }
            if all.giga_bytes.is_empty() {
                all.giga_bytes = part.giga_bytes;
            }
        }
        all
    }

    fn of_host(profile: &Profile, host: HostId) -> Self {
        let first = |prefix: &str| profile.planes_of(host).find(|p| p.name.starts_with(prefix));
        let tpu = first("/device:TPU:").filter(|p| matches!(p.kind, PlaneKind::Tpu | PlaneKind::SparseCore));
        tpu.map(of_tpu).or_else(|| first("/device:GPU:").map(of_gpu)).unwrap_or_default()
    }

    /// The bandwidth with this index of [`bandwidth`], GB/s; 0 where the device states none.
    #[must_use]
    pub(crate) fn giga_bytes(&self, index: usize) -> f64 {
        self.giga_bytes.get(index).copied().unwrap_or(0.0)
    }
}

fn number(plane: &Plane, name: &str) -> f64 {
    plane.stat(name).and_then(Stat::as_f64).unwrap_or(0.0)
}

fn of_tpu(plane: &Plane) -> PerfEnv {
    let peak = |memory: &str| number(plane, &format!("peak_{memory}_bw_gigabytes_per_second"));
    let giga_bytes: Vec<f64> =
        ["hbm", "sram_rd", "sram_wr", "cmem_rd", "cmem_wr", "vmem_rd", "vmem_wr"].map(peak).into();
    PerfEnv {
        tera_flops: number(plane, "peak_teraflops_per_second"),
        has_cmem: giga_bytes[bandwidth::CMEM_READ] > 0.0 || giga_bytes[bandwidth::CMEM_WRITE] > 0.0,
        has_merged_vmem: number(plane, "has_merged_vmem") != 0.0,
        has_megacore: number(plane, "has_megacore") != 0.0,
        giga_bytes,
    }
}

fn of_gpu(plane: &Plane) -> PerfEnv {
    let stated = |name| Some(number(plane, name)).filter(|v| *v > 0.0);
    let gpu = Gpu::new(plane);
    let cycles = gpu.clock_ghz * gpu.cores;
    let shared = gpu.shared_bytes_per_cycle() * cycles;
    let tera_flops = stated("peak_teraflops_per_second").unwrap_or(gpu.flops_per_cycle() * cycles / 1e3);
    let sram = |name| stated(name).unwrap_or(shared);
    PerfEnv {
        tera_flops,
        giga_bytes: vec![
            number(plane, "memory_bandwidth") / 1e9,
            sram("peak_sram_rd_bw_gigabytes_per_second"),
            sram("peak_sram_wr_bw_gigabytes_per_second"),
        ],
        ..PerfEnv::default()
    }
}

/// What a GPU's plane says of it.
pub(super) struct Gpu<'p> {
    vendor: &'p str,
    device: &'p str,
    capability: (i64, i64),
    clock_ghz: f64,
    cores: f64,
}

impl<'p> Gpu<'p> {
    pub(super) fn new(plane: &'p Plane) -> Self {
        let text = |name| plane.stat(name).and_then(Stat::as_text).unwrap_or_default();
        let whole = |name| plane.stat(name).and_then(Stat::as_i64).unwrap_or(0);
        Self {
            vendor: text("device_vendor"),
            device: text("gpu_device_name"),
            capability: (whole("compute_cap_major"), whole("compute_cap_minor")),
            clock_ghz: number(plane, "clock_rate") / 1e6,
            cores: number(plane, "core_count"),
        }
    }

    /// The AMD architecture, where name or capability says which.
    fn amd_architecture(&self) -> Option<&'p str> {
        let digits = self.device.strip_prefix("gfx");
        if digits.is_some_and(|d| d.len() >= 3 && d.bytes().all(|b| b.is_ascii_hexdigit())) {
            return Some(self.device);
        }
        match self.capability {
            (9, 4) => Some("gfx942"),
            (9, 5) => Some("gfx950"),
            _ => None,
        }
    }

    fn flops_per_cycle(&self) -> f64 {
        match self.vendor {
            "Nvidia" => Some(chips::nearest_nvidia_flops_per_cycle(self.capability)),
            "AMD" => self.amd_architecture().and_then(chips::amd_flops_per_cycle),
            _ => None,
        }
        .unwrap_or(0.0)
    }

    /// Bytes that one multiprocessor moves to or from its shared memory in a cycle: 32 banks of 8 bytes (NVIDIA since
    /// compute capability 3), of 4 bytes (AMD until CDNA 3), 64 banks of 4 (CDNA 4).
    fn shared_bytes_per_cycle(&self) -> f64 {
        match (self.vendor, self.amd_architecture()) {
            ("Nvidia", _) if self.capability.0 <= 2 => 64.0,
            ("Nvidia", _) | ("AMD", Some("gfx950")) => 256.0,
            ("AMD", Some("gfx908" | "gfx90a" | "gfx942")) => 128.0,
            _ => 0.0,
        }
    }

    /// The name that the run's description gives the GPU.
    pub(super) fn model(&self) -> String {
        match self.vendor {
            "Nvidia" => {
                let family = match self.capability.0 {
                    2 => "Fermi",
                    3 => "Kepler",
                    5 => "Maxwell",
                    6 => "Pascal",
                    7 if self.capability.1 < 5 => "Volta",
                    7 => "Turing",
                    8 if self.capability.1 < 9 => "Ampere",
                    8 => "Ada Lovelace",
                    9 => "Hopper",
                    10 if self.capability.1 < 7 => "Blackwell",
                    10 => "Rubin",
                    _ => "",
                };
                if family.is_empty() { "Nvidia GPU".to_owned() } else { format!("Nvidia GPU ({family})") }
            }
            "AMD" => match (self.amd_architecture(), self.capability.0) {
                (Some(name), _) => format!("AMD GPU - {name}"),
                (None, major @ 9..=11) => format!("AMD GPU - gfx-{major}XX series"),
                _ => "AMD GPU".to_owned(),
            },
            _ => "GPU".to_owned(),
        }
    }
}
