//! The usual level of samples, whatever is the matter with up to half of them.

use std::collections::BTreeMap;

use super::{FEWEST, Sample, median};
use crate::stats::robust_deviation;

/// The shortest interval that holds this share of the samples lies around the mode.
const SHARE: f64 = 0.4;
/// How wide the middle two fifths of a normal distribution are, in standard deviations.
const WIDTH: f64 = 1.05;
/// The first guess of the spread is from few samples: so many of it around the middle are usual.
const USUAL: f64 = 4.0;
/// Clocks and rounding spread samples by this share at least.
const LEAST_DEVIATION: f64 = 2e-4;

/// Where most samples lie, and how they spread there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Mode {
    pub center: f64,
    pub deviation: f64,
}

/// The mode of samples; `None` of none.
pub(super) fn of(values: &[f64]) -> Option<Mode> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (count, last) = (sorted.len(), sorted.len().checked_sub(1)?);
    let window = ((SHARE * count as f64).ceil() as usize).clamp(3.min(count), count);
    let widths = || (0..=count - window).map(|from| sorted[from + window - 1] - sorted[from]);
    let shortest = widths().fold(f64::INFINITY, f64::min);
    // Of windows about as short the lowest: what is usual is what goes well.
    let from = widths().position(|width| width <= 1.5 * shortest + LEAST_DEVIATION * sorted[0].abs());
    let from = from.unwrap_or(0).min(last);
    let own = &sorted[from..(from + window).min(count)];
    let mut mode = Mode { center: median(own.to_vec()), deviation: 0.0 };
    let least = |center: f64| LEAST_DEVIATION * center.abs();
    // Of few samples the shortest window is far too short.
    let small = 1.0 + 6.0 / count as f64;
    mode.deviation = (small * 1.5 * shortest / WIDTH).max(least(mode.center));
    for _ in 0..8 {
        let near: Vec<f64> =
            sorted.iter().copied().filter(|v| (v - mode.center).abs() <= USUAL * mode.deviation).collect();
        let center = median(near.clone());
        let deviation = (small_sample(near.len()) * robust_deviation(&near, center)).max(least(center));
        let next = Mode { center, deviation };
        if next == mode {
            break;
        }
        mode = next;
    }
    Some(mode)
}

/// The median absolute deviation of few samples is too small by about this factor (Croux and Rousseeuw 1992).
fn small_sample(count: usize) -> f64 {
    let n = count as f64;
    if count < 2 { 1.0 } else { n / (n - 0.8) }
}

/// The modes of kinds that have enough samples.
pub(super) fn of_kinds(samples: &[Sample]) -> BTreeMap<u32, Mode> {
    let mut kinds: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for sample in samples {
        kinds.entry(sample.kind).or_default().push(sample.value);
    }
    // Of several kinds each needs less: the others say how samples spread.
    let fewest = if kinds.len() > 1 { 3 } else { FEWEST };
    let known = kinds.into_iter().filter(|(_, values)| values.len() >= fewest);
    known.filter_map(|(kind, values)| Some((kind, of(&values)?))).collect()
}
