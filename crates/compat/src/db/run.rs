//! Which hardware a run used.

use haloscope_profile::{HostId, PlaneKind, Profile, Stat};

use super::perf::Gpu;

/// The kind of hardware.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Hardware {
    /// No accelerator.
    #[default]
    Cpu,
    /// GPUs.
    Gpu,
    /// TPUs.
    Tpu,
}

/// What a run ran on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RunEnv {
    /// Such as `TPU v6 Lite`, `AMD GPU - gfx942`, `CPU`.
    pub(crate) device_type: String,
    /// The kind of hardware.
    pub(crate) hardware: Hardware,
    /// TensorCores or GPUs, whether or not anything ran on them.
    pub(crate) core_count: usize,
}

impl RunEnv {
    /// The hardware of these hosts: that of the last that has an accelerator, if any has.
    #[must_use]
    pub(crate) fn new(profile: &Profile, hosts: &[HostId]) -> Self {
        let mut all = Self::default();
        for &host in hosts {
            let one = Self::of_host(profile, host);
            if one.hardware != Hardware::Cpu {
                all.core_count += one.core_count;
                all.device_type = one.device_type;
            } else if all.device_type.is_empty() {
                all.device_type = one.device_type;
            }
            all.hardware = all.hardware.max(one.hardware);
        }
        all
    }

    fn of_host(profile: &Profile, host: HostId) -> Self {
        let of = |kind| profile.planes_of(host).filter(move |p| p.kind == kind);
        if let Some(gpu) = of(PlaneKind::Gpu).next() {
            let core_count = of(PlaneKind::Gpu).count();
            return Self { device_type: Gpu::new(gpu).model(), hardware: Hardware::Gpu, core_count };
        }
        if let Some(tpu) = of(PlaneKind::Tpu).next() {
            let device_type = tpu.stat("device_type_string").and_then(Stat::as_text).unwrap_or_default();
            let core_count = of(PlaneKind::Tpu).count();
            return Self { device_type: device_type.to_owned(), hardware: Hardware::Tpu, core_count };
        }
        Self { device_type: "CPU".to_owned(), ..Self::default() }
    }
}
