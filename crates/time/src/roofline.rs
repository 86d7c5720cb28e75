//! The roofline: how fast a piece of work could have been, and what bounds it.
//!
//! Attainable FLOP/s = min(peak FLOP/s, intensity x peak B/s); ridge point = peak FLOP/s / peak B/s
//! (Williams, Waterman, Patterson 2009). The gap is what neither limit explains: time - max(FLOPs / peak, bytes / bandwidth).

pub mod analysis;

use haloscope_profile::Peaks;

/// A share of a peak above this is no number: the count of FLOPs or bytes, or the peak, is wrong.
pub const MOST_OF_PEAK: f64 = 1.02;
/// By as much of its time may work be faster than both limits allow.
const SLACK: f64 = MOST_OF_PEAK - 1.0;

/// Adds to a sum what is known of another amount: unknown amounts leave it as it is, and a sum of none is unknown.
pub fn add_known(sum: &mut Option<f64>, amount: Option<f64>) {
    if let Some(amount) = amount {
        *sum.get_or_insert(0.0) += amount;
    }
}

/// A piece of work: what was done, and in what time, summed over devices.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Work {
    /// Time in picoseconds, summed over devices.
    pub time_ps: f64,
    /// FLOPs; `None` where not known.
    pub flops: Option<f64>,
    /// Bytes to and from HBM; `None` where not known.
    pub hbm_bytes: Option<f64>,
}

/// What bounds a piece of work on the roofline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Bound {
    /// FLOPs over peak take longer than bytes over bandwidth.
    Compute,
    /// Bytes over bandwidth take longer.
    Memory,
}

impl Bound {
    /// The word used in tables.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Memory => "memory",
        }
    }
}

/// A piece of work against the peaks of one device. Everything is `None` where a number it needs is.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Limits {
    /// Achieved FLOP/s of one device; `None` also where that is more than the device can do ([`Peaks::flops_at_most`]).
    pub flop_rate: Option<f64>,
    /// Achieved B/s of one device.
    pub hbm_rate: Option<f64>,
    /// Achieved over peak FLOP/s; `None` above [`MOST_OF_PEAK`].
    pub flop_share: Option<f64>,
    /// Achieved over peak B/s; likewise.
    pub hbm_share: Option<f64>,
    /// FLOPs per byte of HBM traffic.
    pub intensity: Option<f64>,
    /// Time that the FLOPs alone would take at peak, picoseconds.
    pub compute_ps: Option<f64>,
    /// Time that the bytes alone would take at peak bandwidth, picoseconds.
    pub memory_ps: Option<f64>,
    /// FLOP/s that the roofline allows at this intensity.
    pub attainable_flop_rate: Option<f64>,
    /// The larger of both shares: 1 on the roof.
    pub efficiency: Option<f64>,
    /// Which limit is nearer. `None` also for work without FLOPs and bytes.
    pub bound: Option<Bound>,
    /// Time that neither limit explains, picoseconds; `None` of work that was faster than the limits allow.
    pub gap_ps: Option<f64>,
}

impl Work {
    /// The larger share of a peak, where it is more than can be.
    #[must_use]
    pub fn above(&self, peaks: &Peaks) -> Option<f64> {
        let share = |amount: Option<f64>, peak: Option<f64>| Some(amount? / peak? / (self.time_ps / 1e12));
        let shares = [
            share(self.flops, peaks.flops.map(|p| p.rate)),
            share(self.hbm_bytes, peaks.hbm.map(|p| p.rate)),
        ];
        let most = shares.into_iter().flatten().fold(0.0, f64::max);
        Some(most).filter(|most| most.is_finite() && *most > MOST_OF_PEAK)
    }

    /// This work against `peaks`.
    #[must_use]
    pub fn against(&self, peaks: &Peaks) -> Limits {
        let seconds = self.time_ps / 1e12;
        let rate = |amount: Option<f64>| amount.filter(|_| seconds > 0.0).map(|a| a / seconds);
        let over = |a: Option<f64>, b: Option<f64>| a.zip(b).filter(|(_, b)| *b > 0.0).map(|(a, b)| a / b);
        let (peak_flops, peak_hbm) = (peaks.flops.map(|p| p.rate), peaks.hbm.map(|p| p.rate));
        let is_possible = |rate: &f64| peaks.flops_at_most.is_none_or(|most| *rate <= most);
        let (flop_rate, hbm_rate) = (rate(self.flops).filter(is_possible), rate(self.hbm_bytes));
        let share = |rate, peak| over(rate, peak).filter(|share| *share <= MOST_OF_PEAK);
        let (flop_share, hbm_share) = (share(flop_rate, peak_flops), share(hbm_rate, peak_hbm));
        let intensity = over(self.flops, self.hbm_bytes);
        let compute_ps = over(self.flops, peak_flops).map(|s| s * 1e12);
        let memory_ps = over(self.hbm_bytes, peak_hbm).map(|s| s * 1e12);
        let bound = match (compute_ps, memory_ps) {
            (Some(c), Some(m)) if c > 0.0 || m > 0.0 => {
                Some(if c >= m { Bound::Compute } else { Bound::Memory })
            }
            _ => None,
        };
        let floor_ps = compute_ps.zip(memory_ps).map(|(c, m)| c.max(m));
        Limits {
            flop_rate,
            hbm_rate,
            flop_share,
            hbm_share,
            intensity,
            compute_ps,
            memory_ps,
            attainable_flop_rate: match (peak_flops, peak_hbm, intensity) {
                (Some(f), Some(b), Some(i)) => Some(f.min(i * b)),
                _ => None,
            },
            efficiency: flop_share.zip(hbm_share).map(|(a, b)| a.max(b)).filter(|_| bound.is_some()),
            bound,
            gap_ps: floor_ps.map(|floor| self.time_ps - floor).filter(|gap| *gap >= -SLACK * self.time_ps),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haloscope_profile::{Peak, PeakSource};

    fn v5e() -> Peaks {
        let peak = |rate| Some(Peak { rate, source: PeakSource::Table });
        Peaks { flops: peak(197e12), hbm: peak(819e9), flops_at_most: None }
    }

    #[test]
    fn the_worked_example_of_a_compute_bound_kernel() {
        // 138.8 GFLOP and 136 MB in 2.12 ms on a v5e.
        let limits = Work { time_ps: 2.12e9, flops: Some(138.8e9), hbm_bytes: Some(136e6) }.against(&v5e());
        let ms = |v: Option<f64>| v.unwrap() / 1e9;
        assert!((ms(limits.compute_ps) - 0.70).abs() < 0.01);
        assert!((ms(limits.memory_ps) - 0.17).abs() < 0.01);
        assert!((ms(limits.gap_ps) - 1.42).abs() < 0.01);
        assert!((limits.intensity.unwrap() - 1020.0).abs() < 1.0);
        assert_eq!(limits.bound, Some(Bound::Compute));
    }

    #[test]
    fn the_worked_example_of_a_memory_bound_kernel() {
        // Small blocks: 85 FLOP/byte, 2.8 times below the ridge at 240.5. A share of 37.6% of the bandwidth and a gap of 3.19 ms
        // leave one solution: T - B/W = 3.19 ms and B/W = 0.376 T give T = 5.112 ms, B = 1.574 GB, and with 85 FLOP/byte
        // 133.8 GFLOP. (138.8 GFLOP at 85 FLOP/byte and 37.6% would have a gap of 3.31 ms.)
        let limits =
            Work { time_ps: 5.112e9, flops: Some(133.8e9), hbm_bytes: Some(1.5742e9) }.against(&v5e());
        assert!((v5e().ridge_point().unwrap() - 240.5).abs() < 0.1);
        assert!((v5e().ridge_point().unwrap() / limits.intensity.unwrap() - 2.8).abs() < 0.05);
        assert!((limits.intensity.unwrap() - 85.0).abs() < 0.05);
        assert!((limits.hbm_share.unwrap() - 0.376).abs() < 5e-4);
        assert_eq!(limits.bound, Some(Bound::Memory));
        assert!((limits.gap_ps.unwrap() / 1e9 - 3.19).abs() < 0.005);
    }

    #[test]
    fn a_rate_that_no_processor_reaches_is_not_said() {
        let peaks = Peaks { flops_at_most: Some(2e12), ..Peaks::default() };
        let work = |time_ps| Work { time_ps, flops: Some(17.2e9), hbm_bytes: None };
        // 17.2 GFLOP in 70 ms, and in 1 ms.
        assert!((work(70e9).against(&peaks).flop_rate.unwrap() - 0.2457e12).abs() < 1e9);
        assert_eq!(work(1e9).against(&peaks), Limits::default());
    }

    #[test]
    fn more_than_a_peak_is_no_number() {
        let work = Work { time_ps: 1e9, flops: Some(1e9), hbm_bytes: Some(2.0 * 819e6) };
        let limits = work.against(&v5e());
        assert_eq!((limits.hbm_share, limits.gap_ps, limits.efficiency), (None, None, None));
        assert_eq!((limits.bound, limits.flop_share), (Some(Bound::Memory), Some(1e12 / 197e12)));
        assert!((work.above(&v5e()).unwrap() - 2.0).abs() < 1e-9);
        let near = Work { hbm_bytes: Some(1.01 * 819e6), ..work };
        assert!(near.against(&v5e()).hbm_share.is_some() && near.above(&v5e()).is_none());
    }

    #[test]
    fn unknown_numbers_stay_unknown() {
        let limits = Work { time_ps: 1e9, flops: None, hbm_bytes: Some(1e6) }.against(&v5e());
        assert_eq!(
            (limits.flop_rate, limits.bound, limits.gap_ps, limits.efficiency),
            (None, None, None, None)
        );
        assert!(limits.hbm_rate.is_some());
        let nothing = Work { time_ps: 1e9, flops: Some(0.0), hbm_bytes: Some(0.0) }.against(&v5e());
        assert_eq!((nothing.bound, nothing.intensity), (None, None));
    }
}
