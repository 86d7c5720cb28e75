use super::*;

/// A linear congruential generator (Knuth), and what is made of it.
struct Chance(u64);

impl Chance {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Student's t with three degrees of freedom, of variance 3.
    fn heavy(&mut self) -> f64 {
        let squares: f64 = (0..3).map(|_| self.normal().powi(2)).sum();
        self.normal() / (squares / 3.0).sqrt()
    }
}

fn series(values: &[f64]) -> Series {
    let samples: Vec<Sample> = values.iter().map(|value| Sample { value: *value, kind: 0 }).collect();
    Series::of(&samples).unwrap()
}

/// Samples of 100 with this spread, times a factor each.
fn noisy(seed: u64, spread: f64, factors: &[f64]) -> Vec<f64> {
    let mut chance = Chance(seed);
    factors.iter().map(|f| 100.0 * f * (1.0 + spread * chance.normal())).collect()
}

/// The share of series of so many samples in which something is found.
fn alarms(
    count: usize,
    mut sample: impl FnMut(&mut Chance, f64) -> f64,
    what: impl Fn(&Series) -> bool,
) -> f64 {
    let (runs, mut found) = (500, 0);
    for seed in 0..runs {
        let mut chance = Chance(seed * 7919 + 13);
        (0..10).for_each(|_| _ = chance.uniform());
        let mut last = 0.0;
        let values: Vec<f64> = (0..count)
            .map(|_| {
                last = sample(&mut chance, last);
                100.0 * (1.0 + 0.006 * last)
            })
            .collect();
        found += u32::from(what(&series(&values)));
    }
    f64::from(found) / runs as f64
}

#[test]
fn samples_without_a_change_have_none() {
    for count in [6, 12, 30] {
        let independent = alarms(count, |c, _| c.normal(), |s| !s.changes.is_empty());
        assert!(independent < 0.01, "{count} independent: {independent}");
        let heavy = alarms(count, |c, _| c.heavy(), |s| !s.changes.is_empty());
        assert!(heavy < 0.01, "{count} heavy-tailed: {heavy}");
        let correlated = alarms(count, |c, last| 0.4 * last + c.normal(), |s| !s.changes.is_empty());
        assert!(correlated < 0.01, "{count} correlated: {correlated}");
        let spikes = alarms(count, |c, _| c.normal(), |s| s.period.is_some());
        assert!(spikes < 0.01, "{count} periods: {spikes}");
    }
}

#[test]
fn a_change_is_found_where_it_is_with_its_size() {
    for (count, at, size) in
        [(12, 5, 0.3), (12, 9, 0.05), (16, 3, 0.1), (20, 10, 0.025), (200, 77, 0.02), (10, 5, -0.2)]
    {
        let factors: Vec<f64> = (0..count).map(|i| if i < at { 1.0 } else { 1.0 + size }).collect();
        let found = series(&noisy(count as u64, 0.006, &factors));
        assert_eq!(found.changes.len(), 1, "{count} {at} {size}: {found:?}");
        let change = found.changes[0];
        assert!(change.at.abs_diff(at) <= usize::from(size < 0.03) * 2, "{at}: {change:?}");
        assert!(change.interval.0 < size && size < change.interval.1, "{size}: {change:?}");
        assert!(found.spikes.is_empty(), "{found:?}");
        let values = noisy(count as u64, 0.006, &factors);
        let good = values.iter().sum::<f64>() / (values.iter().sum::<f64>() - found.excess());
        let truth = factors.iter().sum::<f64>() / count as f64 / factors.iter().copied().fold(2.0, f64::min);
        assert!((good / truth - 1.0).abs() < 0.01, "{good} {truth}");
    }
}

#[test]
fn a_change_too_small_for_the_spread_is_none() {
    let factors: Vec<f64> = (0..12).map(|i| if i < 6 { 1.0 } else { 1.02 }).collect();
    assert!(series(&noisy(3, 0.03, &factors)).changes.is_empty());
    // Clear, and too small to look for.
    let factors: Vec<f64> = (0..60).map(|i| if i < 30 { 1.0 } else { 1.006 }).collect();
    assert!(series(&noisy(3, 0.0005, &factors)).changes.is_empty());
}

#[test]
fn a_slow_stretch_has_a_beginning_and_an_end() {
    let factors: Vec<f64> = (0..24).map(|i| if (8..15).contains(&i) { 1.2 } else { 1.0 }).collect();
    let found = series(&noisy(9, 0.006, &factors));
    let at: Vec<usize> = found.changes.iter().map(|change| change.at).collect();
    assert_eq!(at, [8, 15], "{found:?}");
    assert_eq!(found.slow().collect::<Vec<_>>(), (8..15).collect::<Vec<_>>());
}

#[test]
fn a_ramp_is_told_from_a_change_at_once() {
    let factors: Vec<f64> = (0..24).map(|i| 1.0 + 0.2 * ((i as f64 - 5.0) / 8.0).clamp(0.0, 1.0)).collect();
    let found = series(&noisy(4, 0.006, &factors));
    assert_eq!(found.changes.len(), 1, "{found:?}");
    let change = found.changes[0];
    assert!(change.over >= 5 && change.at.abs_diff(6) <= 2, "{change:?}");
    assert!((change.size - 0.2).abs() < 0.02, "{change:?}");
    let truth: f64 = factors.iter().map(|f| 100.0 * (f - 1.0)).sum();
    assert!((found.excess() / truth - 1.0).abs() < 0.1, "{} {truth}", found.excess());
    // One that never ends.
    let factors: Vec<f64> = (0..30).map(|i| 1.0 + 0.01 * i as f64).collect();
    let found = series(&noisy(5, 0.006, &factors));
    assert!(found.changes[0].over > 15, "{found:?}");
}

#[test]
fn spikes_at_equal_distances_are_a_period() {
    for (count, every, first, size) in
        [(20, 3, 3, 0.4), (12, 5, 2, 4.0), (25, 7, 2, 0.1), (16, 2, 1, 0.2), (40, 10, 9, 0.05)]
    {
        let factors: Vec<f64> = (0..count)
            .map(|i| if i >= first && (i - first) % every == 0 { 1.0 + size } else { 1.0 })
            .collect();
        let found = series(&noisy(count as u64 + 1, 0.006, &factors));
        let period = found.period.clone().unwrap_or_else(|| panic!("{count} {every}: {found:?}"));
        assert_eq!((period.every, period.first), (every, first), "{found:?}");
        assert!((period.extra / (100.0 * size) - 1.0).abs() < 0.15, "{period:?}");
        assert!(found.changes.is_empty(), "{found:?}");
    }
}

#[test]
fn spikes_anywhere_are_no_period() {
    let mut factors = [1.0; 20];
    for at in [3, 5, 11, 12, 18] {
        factors[at] = 1.5;
    }
    let found = series(&noisy(8, 0.006, &factors));
    assert_eq!(found.spikes.iter().map(|s| s.at).collect::<Vec<_>>(), [3, 5, 11, 12, 18]);
    assert_eq!(found.period, None);
    // One that is not like the other.
    let mut factors = [1.0; 12];
    (factors[4], factors[8]) = (1.1, 9.0);
    assert_eq!(series(&noisy(8, 0.006, &factors)).period, None);
}

#[test]
fn a_change_and_a_period_are_told_apart() {
    let factors: Vec<f64> =
        (0..30).map(|i| if i < 16 { 1.0 } else { 1.15 } + if i % 4 == 2 { 0.5 } else { 0.0 }).collect();
    let found = series(&noisy(6, 0.006, &factors));
    assert_eq!(found.changes.iter().map(|c| c.at).collect::<Vec<_>>(), [16], "{found:?}");
    let period = found.period.unwrap();
    assert_eq!((period.every, period.first, period.starts.len()), (4, 2, 7));
    assert!((period.extra / 50.0 - 1.0).abs() < 0.05, "{period:?}");
}

#[test]
fn samples_are_held_against_their_kind() {
    let kinds = [0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 1, 1];
    let mut chance = Chance(5);
    let sample = |at: usize, kind: u32, chance: &mut Chance| {
        let usual = if kind == 0 { 100.0 } else { 60.0 };
        Sample { value: usual * (1.0 + 0.004 * chance.normal()) * if at >= 8 { 1.2 } else { 1.0 }, kind }
    };
    let samples: Vec<Sample> =
        kinds.iter().enumerate().map(|(at, kind)| sample(at, *kind, &mut chance)).collect();
    let found = Series::of(&samples).unwrap();
    assert_eq!(found.changes.iter().map(|c| c.at).collect::<Vec<_>>(), [8], "{found:?}");
    // All but one of the rarer kind lie behind the change.
    let kinds = [0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 1, 1];
    let late = |at: usize, kind: u32, chance: &mut Chance| {
        let usual = if kind == 0 { 100.0 } else { 60.0 };
        Sample { value: usual * (1.0 + 0.004 * chance.normal()) * if at >= 6 { 1.2 } else { 1.0 }, kind }
    };
    let samples: Vec<Sample> =
        kinds.iter().enumerate().map(|(at, kind)| late(at, *kind, &mut chance)).collect();
    let found = Series::of(&samples).unwrap();
    assert_eq!(found.changes.iter().map(|c| c.at).collect::<Vec<_>>(), [6], "{found:?}");
    assert!((found.changes[0].size - 0.2).abs() < 0.01 && found.spikes.is_empty(), "{found:?}");
    let flat: Vec<Sample> = kinds.iter().map(|kind| sample(0, *kind, &mut chance)).collect();
    let found = Series::of(&flat).unwrap();
    assert!(found.changes.is_empty() && found.spikes.is_empty(), "{found:?}");
}

#[test]
fn kinds_by_turns_slow_down_by_their_own_amounts() {
    let of = |seed: u64, count: usize, level: &dyn Fn(usize, u32) -> f64| {
        let mut chance = Chance(seed);
        let sample = |at: usize| {
            let kind = (at % 2) as u32;
            let usual = if kind == 0 { 100.0 } else { 60.0 };
            Sample { value: usual * level(at, kind) * (1.0 + 0.006 * chance.normal()), kind }
        };
        let samples: Vec<Sample> = (0..count).map(sample).collect();
        Series::of(&samples).unwrap()
    };
    // One kind from a sample on, the other less or not at all; a ramp of both.
    let once =
        |more: [f64; 2]| move |at: usize, kind: u32| if at < 14 { 1.0 } else { 1.0 + more[kind as usize] };
    let ramp =
        |at: usize, kind: u32| 1.0 + [0.3, 0.08][kind as usize] * ((at as f64 - 4.0) / 20.0).clamp(0.0, 1.0);
    type Slowed<'a> = &'a dyn Fn(usize, u32) -> f64;
    for (more, level) in [
        ([0.3, 0.08], &once([0.3, 0.08]) as Slowed<'_>),
        ([0.2, 0.0], &once([0.2, 0.0])),
        ([0.0, 0.25], &once([0.0, 0.25])),
    ] {
        let found = of(3, 30, level);
        assert_eq!(found.changes.len(), 1, "{more:?}: {found:?}");
        assert!(found.changes[0].at.abs_diff(14) <= 1, "{more:?}: {found:?}");
        let truth = 8.0 * (100.0 * more[0] + 60.0 * more[1]);
        assert!((found.excess() / truth - 1.0).abs() < 0.12, "{more:?}: {} of {truth}", found.excess());
        let size = (100.0 * more[0] + 60.0 * more[1]) / 160.0;
        assert!(
            (found.changes[0].size / size - 1.0).abs() < 0.12,
            "{more:?}: {} of {size}",
            found.changes[0].size
        );
        assert!(found.spikes.is_empty(), "{more:?}: {found:?}");
    }
    let found = of(4, 30, &ramp);
    let truth: f64 = (0..30).map(|at| (ramp(at, at as u32 % 2) - 1.0) * [100.0, 60.0][at % 2]).sum();
    assert!(found.changes.len() == 1 && found.changes[0].over > 10, "{found:?}");
    assert!((found.excess() / truth - 1.0).abs() < 0.12, "{} of {truth}", found.excess());
    // Two kinds without a change have none.
    let alarms = (0..500).filter(|seed| !of(seed * 7919 + 13, 20, &|_, _| 1.0).changes.is_empty()).count();
    assert!(alarms < 5, "{alarms} of 500");
}

#[test]
fn what_cannot_be_told_is_nothing() {
    let of = |values: &[f64]| {
        Series::of(&values.iter().map(|value| Sample { value: *value, kind: 0 }).collect::<Vec<_>>())
    };
    assert_eq!(of(&[1.0, 1.0, 2.0]), None);
    assert_eq!(of(&[1.0, 1.0, f64::NAN, 1.0, 1.0, 1.0]), None);
    assert_eq!(of(&[1.0, 1.0, 0.0, 1.0, 1.0, 1.0]), None);
    let same = series(&[5.0; 12]);
    assert!(same.changes.is_empty() && same.spikes.is_empty() && same.period.is_none());
    assert_eq!(same.excess(), 0.0);
}
