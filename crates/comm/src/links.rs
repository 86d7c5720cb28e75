//! How fast a collective moves its message, and how fast its links could.
//!
//! Algorithm bandwidth is the message over the time; bus bandwidth is that times a factor which says how often each byte
//! crosses a link of a device, so that it can be held against the hardware whatever the collective and the number of
//! members (as NCCL's tests count). The message is the whole of one device's buffer, inputs or outputs, whichever is more: of
//! an all-gather its output, of a reduce-scatter its input. Rates are decimal bytes a second.

use haloscope_profile::{Device, PeakSource, Profile, Stat, chips};

/// How often each byte of the message crosses a device's links, for `members` in a group (0 where nobody knows); `None` where
/// that does not tell.
#[must_use]
pub fn factor(kind: &str, members: u64) -> Option<f64> {
    let rest = || (members > 0).then(|| (members.saturating_sub(1)) as f64 / members as f64);
    match kind {
        "all-reduce" => Some(2.0 * rest()?),
        "all-gather" | "reduce-scatter" | "all-to-all" | "ragged-all-to-all" => rest(),
        "collective-permute" | "collective-broadcast" | "send" | "recv" | "copy between devices" => Some(1.0),
        _ => None,
    }
}

/// Bytes over picoseconds, as bytes a second; `None` without time.
#[must_use]
pub fn rate(bytes: f64, time_ps: f64) -> Option<f64> {
    (time_ps > 0.0 && bytes > 0.0).then(|| bytes / (time_ps / 1e12))
}

/// What a device's links can carry in one direction, bytes a second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Links {
    /// One link.
    pub one: f64,
    /// Links of the device; `None` where the profile states one rate for all.
    pub count: Option<u32>,
    /// Where it is known from.
    pub source: PeakSource,
}

/// The inter-chip links of a TPU.
struct Ici {
    type_names: &'static [&'static str],
    /// Bytes a second over all links, both directions together.
    both_ways: f64,
    links: u32,
}

/// From the vendor's system pages (docs.cloud.google.com/tpu/docs/v5e, v5p, v6e: "Bidirectional inter-chip interconnect (ICI)
/// bandwidth per chip" and the ports per chip, of a 3D torus 6). Of v4 the page gives the bisection bandwidth of a pod, 24 TB/s: over the
/// 2 x 16 x 16 links that cross the middle of its 4096 chips, 46.9 GB/s each (JAX's scaling book has 45). Chips for which the pages give no
/// such number, or whose cores are devices of their own and share links, are left out.
const ICI: &[Ici] = &[
    Ici { type_names: &["TPU v4"], both_ways: 562.5e9, links: 6 },
    Ici { type_names: &["TPU v5 Lite", "TPU v5e"], both_ways: 400e9, links: 4 },
    Ici { type_names: &["TPU v5", "TPU v5p"], both_ways: 1200e9, links: 6 },
    Ici { type_names: &["TPU v6 Lite", "TPU v6e"], both_ways: 800e9, links: 4 },
];

/// Stats of a device's plane that state the peak rate of all its links in one direction, decimal gigabytes a second.
const STATED: [&str; 1] = ["peak_ici_bw_gigabytes_per_second"];

impl Links {
    /// The links of a device: as its plane states them, else from the table of chips; `None` where neither knows.
    #[must_use]
    pub fn of(profile: &Profile, device: &Device) -> Option<Self> {
        let plane = profile.plane(device.plane);
        let stated = STATED.iter().find_map(|name| plane.stat(name).and_then(Stat::as_f64));
        if let Some(all) = stated.filter(|all| *all > 0.0) {
            return Some(Self { one: all * 1e9, count: None, source: PeakSource::Trace });
        }
        Self::of_type(&device.type_name)
    }

    fn of_type(type_name: &str) -> Option<Self> {
        let name = chips::tpu(type_name).map_or(type_name, |chip| chip.type_name);
        let row = ICI.iter().find(|row| row.type_names.iter().any(|own| own.eq_ignore_ascii_case(name)))?;
        Some(Self {
            one: row.both_ways / 2.0 / f64::from(row.links),
            count: Some(row.links),
            source: PeakSource::Table,
        })
    }

    /// The most that a device can send over all of its links.
    #[must_use]
    pub fn all(&self) -> f64 {
        self.one * f64::from(self.count.unwrap_or(1))
    }

    /// The most that it can send along some axes of the slice: two links each.
    #[must_use]
    pub fn along(&self, axes: usize) -> Option<f64> {
        let links = u32::try_from(axes).ok()?.checked_mul(2)?;
        Some(self.one * f64::from(links.min(self.count?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_are_the_usual_ones() {
        assert_eq!(factor("all-reduce", 4), Some(1.5));
        for kind in ["all-gather", "reduce-scatter", "all-to-all"] {
            assert_eq!(factor(kind, 4), Some(0.75));
        }
        assert_eq!((factor("collective-permute", 16), factor("send", 0)), (Some(1.0), Some(1.0)));
        // One member sends nothing; nobody knows what a kernel of no known kind does.
        assert_eq!(factor("all-reduce", 1), Some(0.0));
        assert_eq!((factor("all-reduce", 0), factor("collective kernel", 4)), (None, None));
    }

    #[test]
    fn rates_are_decimal() {
        // 90 MB in a millisecond.
        assert_eq!(rate(90e6, 1e9), Some(90e9));
        assert_eq!((rate(1.0, 0.0), rate(0.0, 1.0)), (None, None));
    }

    #[test]
    fn links_of_chips() {
        let v5e = Links::of_type("TPU v5 Lite").unwrap();
        assert_eq!((v5e.one, v5e.all(), v5e.along(1), v5e.along(2)), (50e9, 200e9, Some(100e9), Some(200e9)));
        // More axes than a chip has links for.
        assert_eq!(v5e.along(3), Some(200e9));
        assert_eq!(Links::of_type("TPU v5p").map(|l| l.all()), Some(600e9));
        assert_eq!(Links::of_type("v6e").map(|l| l.one), Some(100e9));
        assert_eq!(Links::of_type("TPU v4").map(|l| l.one * 512.0), Some(24e12));
        assert_eq!(Links::of_type("NVIDIA H100").map(|l| l.one), None);
        assert_eq!(Links::of_type("TPU v7x").map(|l| l.one), None);
    }
}
