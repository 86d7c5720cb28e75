//! Devices: what computes, and how fast it could.

use rustc_hash::FxHashMap;

use super::{DeviceId, HostId, LineKind, Plane, PlaneId, PlaneKind, Profile, Stat, chips};

/// What kind of device computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DeviceKind {
    /// A TPU TensorCore.
    Tpu,
    /// A GPU.
    Gpu,
    /// The host's processor, where the profile has no accelerator.
    Cpu,
}

impl DeviceKind {
    /// The word used in sentences.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Tpu => "TPU",
            Self::Gpu => "GPU",
            Self::Cpu => "CPU",
        }
    }
}

/// A device of the run.
#[derive(Debug, Clone)]
pub struct Device {
    /// Its row in [`Profile::devices`].
    pub id: DeviceId,
    /// The host it hangs on.
    pub host: HostId,
    /// The plane that shows it.
    pub plane: PlaneId,
    /// Kind.
    pub kind: DeviceKind,
    /// `TPU:0`; with the host in front (`w-1/TPU:0`) where the run has several hosts.
    pub name: String,
    /// Such as `TPU v6 Lite`, `NVIDIA GPU (compute capability 9.0)`, `CPU`.
    pub type_name: String,
    /// What it can do at most.
    pub peaks: Peaks,
    /// True if the plane has any event: planes of unused GPUs have none.
    pub active: bool,
}

/// The most that a device can do, as far as known.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Peaks {
    /// FLOP/s at the precision for which the vendor states the highest dense rate of 16-bit floats (bf16 or fp16).
    pub flops: Option<Peak>,
    /// Bytes a second to and from HBM (or the GPU's global memory).
    pub hbm: Option<Peak>,
    /// FLOP/s that the device cannot exceed, where no peak is known: an estimate from above, which says nothing of how near
    /// a rate is to what the device can do. A rate above it is wrong.
    pub flops_at_most: Option<f64>,
}

/// A peak rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Peak {
    /// FLOP/s or B/s, of one device: a core where a chip has several.
    pub rate: f64,
    /// Where it comes from.
    pub source: PeakSource,
}

/// Where a peak rate comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeakSource {
    /// The profile states it.
    Trace,
    /// From the clock rate and core count that the profile states, and operations a cycle of the architecture.
    Derived,
    /// From the table of chips, see [`chips`].
    Table,
}

impl PeakSource {
    /// The word used in reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Trace => "trace",
            Self::Derived => "derived",
            Self::Table => "table",
        }
    }
}

impl Peaks {
    /// FLOP per byte at which compute and memory limits meet.
    #[must_use]
    pub fn ridge_point(&self) -> Option<f64> {
        Some(self.flops?.rate / self.hbm?.rate)
    }
}

/// Finds the devices of a profile whose planes and lines are in place.
pub(super) fn find(profile: &Profile) -> Vec<Device> {
    find_among(profile, profile.hosts.len() > 1)
}

/// The same where the run may have more hosts than the profile.
pub(super) fn find_among(profile: &Profile, many_hosts: bool) -> Vec<Device> {
    let mut devices = Vec::new();
    for (h, host) in profile.hosts.iter().enumerate() {
        let host_id = HostId(h as u32);
        let before = devices.len();
        for plane in profile.planes_of(host_id) {
            let kind = match plane.kind {
                PlaneKind::Tpu => DeviceKind::Tpu,
                PlaneKind::Gpu => DeviceKind::Gpu,
                _ => continue,
            };
            let short = plane.name.trim_start_matches("/device:");
            devices.push(device(profile, plane, kind, label(many_hosts, &host.name, short)));
        }
        if devices.len() == before
            && let Some(plane) = profile.planes_of(host_id).find(|p| p.kind == PlaneKind::Host)
        {
            devices.push(device(profile, plane, DeviceKind::Cpu, label(many_hosts, &host.name, "CPU")));
        }
    }
    // A plane that is split in several parts of one name is one device each; the order is by host and ordinal.
    devices.sort_by_key(|d: &Device| (d.host, profile.plane(d.plane).ordinal, d.plane));
    for (i, device) in devices.iter_mut().enumerate() {
        device.id = DeviceId(i as u32);
    }
    tell_apart(&mut devices);
    devices
}

/// Numbers the devices of one name, in the order of their planes: processes that each see one device of a host call it `GPU:0`, all of
/// them. Those without events are in no answer, and keep their names.
fn tell_apart(devices: &mut [Device]) {
    let mut all: FxHashMap<String, usize> = FxHashMap::default();
    for device in devices.iter().filter(|d| d.active) {
        *all.entry(device.name.clone()).or_default() += 1;
    }
    let mut seen: FxHashMap<String, usize> = FxHashMap::default();
    for device in devices.iter_mut().filter(|d| d.active) {
        if all.get(&device.name).is_some_and(|count| *count > 1) {
            let number = seen.entry(device.name.clone()).or_default();
            *number += 1;
            device.name = format!("{}#{number}", device.name);
        }
    }
}

fn label(many_hosts: bool, host: &str, short: &str) -> String {
    if many_hosts { format!("{host}/{short}") } else { short.to_owned() }
}

fn device(profile: &Profile, plane: &Plane, kind: DeviceKind, name: String) -> Device {
    let active = profile.lines_of(plane.id).any(|l| l.event_count > 0);
    let (type_name, peaks) = match kind {
        DeviceKind::Tpu => tpu(plane),
        DeviceKind::Gpu => gpu(plane),
        DeviceKind::Cpu => {
            let threads =
                profile.lines_of(plane.id).filter(|l| l.kind == LineKind::Thread && l.event_count > 0);
            let at_most = chips::cpu_flops_at_most(threads.map(|line| &*line.name));
            ("CPU".to_owned(), Peaks { flops_at_most: at_most, ..Peaks::default() })
        }
    };
    Device { id: DeviceId(0), host: plane.host, plane: plane.id, kind, name, type_name, peaks, active }
}

fn stated(plane: &Plane, name: &str, scale: f64) -> Option<Peak> {
    let value = plane.stat(name).and_then(Stat::as_f64)?;
    (value > 0.0).then_some(Peak { rate: value * scale, source: PeakSource::Trace })
}

fn tpu(plane: &Plane) -> (String, Peaks) {
    let type_name = plane.stat("device_type_string").and_then(Stat::as_text).unwrap_or("TPU").to_owned();
    let chip = chips::tpu(&type_name);
    let from_table = |rate: f64| Peak { rate, source: PeakSource::Table };
    let flops = stated(plane, "peak_teraflops_per_second", 1e12);
    let hbm = stated(plane, "peak_hbm_bw_gigabytes_per_second", 1e9);
    let peaks = Peaks {
        flops: flops.or_else(|| chip.map(|c| from_table(c.bf16_flops))),
        hbm: hbm.or_else(|| chip.map(|c| from_table(c.hbm_bytes_per_s))),
        flops_at_most: None,
    };
    (type_name, peaks)
}

/// What the profile states, unless it is a tenth or more off the vendor's figure: then that. Profilers state the memory's clock as
/// it is on the machine, but were seen to miss a factor of two.
fn better(stated: Option<Peak>, vendors: Option<f64>) -> Option<Peak> {
    let vendors = vendors.map(|rate| Peak { rate, source: PeakSource::Table });
    match (stated, vendors) {
        (Some(stated), Some(vendors)) if (stated.rate / vendors.rate - 1.0).abs() >= 0.1 => Some(vendors),
        (Some(stated), _) => Some(stated),
        (None, vendors) => vendors,
    }
}

fn gpu(plane: &Plane) -> (String, Peaks) {
    let number = |name| plane.stat(name).and_then(Stat::as_f64).filter(|v| *v > 0.0);
    let whole = |name| plane.stat(name).and_then(Stat::as_i64);
    // XLA writes `Nvidia`; older profilers wrote no vendor and knew no other.
    let vendor = match plane.stat("device_vendor").and_then(Stat::as_text) {
        Some(vendor) if !vendor.eq_ignore_ascii_case("nvidia") => vendor,
        _ => "NVIDIA",
    };
    let model = plane.stat("gpu_device_name").and_then(Stat::as_text);
    let capability = whole("compute_cap_major").map(|major| (major, whole("compute_cap_minor").unwrap_or(0)));
    let type_name = match (model, capability) {
        (Some(model), _) if !model.is_empty() => model.to_owned(),
        (_, Some((major, minor))) if vendor == "AMD" => {
            format!("AMD GPU (compute capability {major}.{minor})")
        }
        (_, Some((major, minor))) => format!("{vendor} GPU (compute capability {major}.{minor})"),
        _ => format!("{vendor} GPU"),
    };
    let known = chips::gpu(&chips::Stated {
        is_amd: vendor == "AMD",
        model,
        capability,
        cores: whole("core_count"),
        memory_bytes: number("memory_size"),
        bandwidth: number("memory_bandwidth"),
        clock_hz: number("clock_rate").map(|khz| khz * 1e3),
    });
    let derived = || {
        let per_cycle = match vendor {
            "AMD" => model
                .and_then(chips::amd_flops_per_cycle)
                .or_else(|| chips::amd_flops_per_cycle_of(capability?))?,
            _ => chips::nvidia_flops_per_cycle(capability?)?,
        };
        let rate = per_cycle * number("clock_rate")? * 1e3 * number("core_count")?;
        Some(Peak { rate, source: PeakSource::Derived })
    };
    let bandwidth = || Some(Peak { rate: number("memory_bandwidth")?, source: PeakSource::Trace });
    let peaks = Peaks {
        flops: better(stated(plane, "peak_teraflops_per_second", 1e12), known.map(|gpu| gpu.flops))
            .or_else(derived),
        hbm: better(
            stated(plane, "peak_hbm_bw_gigabytes_per_second", 1e9).or_else(bandwidth),
            known.map(|gpu| gpu.hbm),
        ),
        flops_at_most: None,
    };
    (type_name, peaks)
}
