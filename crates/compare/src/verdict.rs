//! What may be said of a difference: of the step time, and of many ops at once.

use super::StepTime;
use super::samples::mean;
use haloscope_report::units;
use haloscope_time::significance::{Test, detectable, holm, least_rank_p, mann_whitney, welch};
use haloscope_time::steps::StepClass;

/// The step time changed only where Welch's p is below this,
pub const STEP_P: f64 = 0.01;
/// the rank test's below this, where it can get there,
pub const STEP_RANK_P: f64 = 0.05;
/// and the difference above this share of the baseline's step.
pub const STEP_SHARE: f64 = 0.002;
/// A run with fewer steps says nothing of its noise.
pub const LEAST_STEPS: usize = 3;
/// An op changed only where Welch's p, corrected for the number of ops, is below this,
pub const OP_P: f64 = 0.01;
/// and the difference at least this share of its own time.
pub const OP_SHARE: f64 = 0.01;

/// What became of the step time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is shorter, by more than noise.
    Faster,
    /// It is longer, by more than noise.
    Slower,
    /// No difference beyond the noise floor.
    Unchanged,
    /// Too few steps to tell.
    Undecided,
    /// The runs did not do the same work on the same devices.
    NotComparable,
}

impl Verdict {
    /// The words used in reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::Unchanged => "unchanged",
            Self::Undecided => "undecided",
            Self::NotComparable => "not comparable",
        }
    }
}

/// The step times of two runs, held against each other. Times are picoseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct StepVerdict {
    /// What may be said.
    pub verdict: Verdict,
    /// The mean of the experiment less that of the baseline, over all counted steps: what the user gets.
    pub delta_ps: f64,
    /// The same over the baseline's mean; `None` where that is 0.
    pub delta_share: Option<f64>,
    /// Welch's test; `None` with fewer than two steps in a run.
    pub test: Option<Test>,
    /// The rank test's p.
    pub rank_p: Option<f64>,
    /// The smallest difference that would have been told, the share that is asked for included.
    pub noise_floor_ps: Option<f64>,
    /// The same over the baseline's mean.
    pub noise_floor_share: Option<f64>,
    /// Counted steps of the baseline.
    pub baseline_steps: usize,
    /// Counted steps of the experiment.
    pub experiment_steps: usize,
    /// Why the verdict is what it is, one sentence without a full stop.
    pub why: String,
    /// The verdict and difference without warm-up and outliers, where that is another verdict.
    pub usual: Option<(Verdict, f64)>,
}

impl StepVerdict {
    /// Holds the counted steps of two runs against each other.
    #[must_use]
    pub fn of(baseline: &[StepTime], experiment: &[StepTime]) -> Self {
        let times = |steps: &[StepTime]| steps.iter().map(|step| step.time_ps).collect::<Vec<_>>();
        let usual = |steps: &[StepTime]| {
            let steady = steps.iter().filter(|step| step.class == StepClass::Steady);
            steady.map(|step| step.time_ps).collect::<Vec<_>>()
        };
        let mut all = Self::of_times(&times(baseline), &times(experiment));
        let without = Self::of_times(&usual(baseline), &usual(experiment));
        all.usual = (without.verdict != all.verdict && without.verdict != Verdict::Undecided)
            .then_some((without.verdict, without.delta_ps));
        all
    }

    /// The same of times alone.
    #[must_use]
    pub fn of_times(a: &[f64], b: &[f64]) -> Self {
        Self::of_parts(a, b, mean(a))
    }

    /// The same of a part of every step; the baseline's step took `base` picoseconds.
    #[must_use]
    pub fn of_parts(a: &[f64], b: &[f64], base: f64) -> Self {
        let delta_ps = mean(b) - mean(a);
        let share = |ps: f64| (base > 0.0).then(|| ps / base);
        let test = welch(a, b);
        let rank_p = mann_whitney(a, b);
        let noise_floor_ps = detectable(a, b, STEP_P).map(|ps| ps.max(STEP_SHARE * base));
        let (verdict, why) = judge(a.len(), b.len(), base, test, rank_p);
        Self {
            verdict,
            delta_ps,
            delta_share: share(delta_ps),
            test,
            rank_p,
            noise_floor_ps,
            noise_floor_share: noise_floor_ps.and_then(share),
            baseline_steps: a.len(),
            experiment_steps: b.len(),
            why,
            usual: None,
        }
    }

    /// The step times of runs that cannot be compared: no verdict on the difference, for this reason.
    #[must_use]
    pub fn not_comparable(self, why: impl Into<String>) -> Self {
        Self { verdict: Verdict::NotComparable, why: why.into(), usual: None, ..self }
    }
}

fn judge(n: usize, m: usize, base: f64, test: Option<Test>, rank_p: Option<f64>) -> (Verdict, String) {
    let Some(test) = test.filter(|_| n >= LEAST_STEPS && m >= LEAST_STEPS) else {
        let steps = |n: usize| format!("{n} step{}", if n == 1 { "" } else { "s" });
        let why = format!(
            "the baseline has {}, the experiment {}: nothing tells a difference from noise with fewer than {LEAST_STEPS} in each",
            steps(n),
            steps(m)
        );
        return (Verdict::Undecided, why);
    };
    let p = format!("p = {} (Welch)", units::number(test.p));
    if test.p >= STEP_P {
        return (Verdict::Unchanged, format!("{p}, not below {STEP_P}: within the noise"));
    }
    let least = least_rank_p(n, m);
    let ranks = match rank_p {
        Some(rank) if least < STEP_RANK_P => {
            if rank >= STEP_RANK_P {
                let why = format!(
                    "{p}, but p = {} by ranks, not below {STEP_RANK_P}: a few steps make the difference",
                    units::number(rank)
                );
                return (Verdict::Unchanged, why);
            }
            format!("p = {} by ranks", units::number(rank))
        }
        _ => format!("too few steps for a rank test, whose p is at least {}", units::number(least)),
    };
    let share = test.delta.abs() / base.max(f64::MIN_POSITIVE);
    if share <= STEP_SHARE {
        let why = format!(
            "{p}, but the difference is {} of a step, not above {}",
            units::share(share),
            units::share(STEP_SHARE)
        );
        return (Verdict::Unchanged, why);
    }
    let verdict = if test.delta > 0.0 { Verdict::Slower } else { Verdict::Faster };
    (verdict, format!("{p}, {ranks}"))
}

/// What became of the time of an op.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// It takes longer, by more than noise.
    Slower,
    /// It takes less time, by more than noise.
    Faster,
    /// No difference beyond the noise floor.
    Unchanged,
    /// Too few steps to tell.
    Undecided,
}

impl Change {
    /// The word used in tables.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Slower => "slower",
            Self::Faster => "faster",
            Self::Unchanged => "unchanged",
            Self::Undecided => "undecided",
        }
    }
}

/// One of many differences that were looked at together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OpVerdict {
    /// What may be said.
    pub change: Change,
    /// Welch's test; its p is the plain one. `None` with fewer than two steps in a run.
    pub test: Option<Test>,
    /// Its p, corrected for all differences that were looked at.
    pub p: Option<f64>,
}

/// Judges the ops that two runs have in common, all together: for each its time in every step of the baseline and of the
/// experiment.
#[must_use]
pub fn of_ops(ops: &[(&[f64], &[f64])]) -> Vec<OpVerdict> {
    let tests: Vec<Option<Test>> = ops.iter().map(|(a, b)| welch(a, b)).collect();
    let mut adjusted: Vec<f64> = tests.iter().map(|test| test.map_or(f64::NAN, |test| test.p)).collect();
    holm(&mut adjusted);
    let one = |a: &[f64], b: &[f64], test: Option<Test>, p: f64| {
        let Some(test) = test.filter(|_| a.len() >= LEAST_STEPS && b.len() >= LEAST_STEPS) else {
            return OpVerdict { change: Change::Undecided, test, p: test.map(|_| p) };
        };
        let is_large = test.delta != 0.0 && test.delta.abs() >= OP_SHARE * mean(a);
        let change = match (p < OP_P && is_large, test.delta > 0.0) {
            (false, _) => Change::Unchanged,
            (true, true) => Change::Slower,
            (true, false) => Change::Faster,
        };
        OpVerdict { change, test: Some(test), p: Some(p) }
    };
    ops.iter().zip(tests).zip(adjusted).map(|((&(a, b), test), p)| one(a, b, test, p)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(mean: f64, n: usize) -> Vec<f64> {
        (0..n).map(|i| mean * (1.0 + 0.002 * ((i * 7 % 5) as f64 - 2.0))).collect()
    }

    #[test]
    fn a_difference_beyond_the_noise_is_told_and_one_within_is_not() {
        let slower = StepVerdict::of_times(&spread(77e9, 12), &spread(82e9, 8));
        assert_eq!(slower.verdict, Verdict::Slower, "{}", slower.why);
        assert!(slower.test.unwrap().low < 5e9 && slower.test.unwrap().high > 5e9);
        assert!(slower.noise_floor_ps.unwrap() < slower.delta_ps);
        let faster = StepVerdict::of_times(&spread(82e9, 8), &spread(77e9, 12));
        assert_eq!((faster.verdict, faster.delta_ps), (Verdict::Faster, -slower.delta_ps));
        let same = StepVerdict::of_times(&spread(77e9, 12), &spread(77.05e9, 12));
        assert_eq!(same.verdict, Verdict::Unchanged, "{}", same.why);
        assert!(same.noise_floor_ps.unwrap() > same.delta_ps.abs());
    }

    #[test]
    fn one_or_two_steps_decide_nothing_and_it_is_said() {
        for n in [0, 1, 2] {
            let verdict = StepVerdict::of_times(&spread(77e9, 12), &vec![99e9; n]);
            assert_eq!(verdict.verdict, Verdict::Undecided);
            let said = format!("the experiment {n} step{}", if n == 1 { "" } else { "s" });
            assert!(verdict.why.contains(&said) && verdict.why.contains("fewer than 3"), "{}", verdict.why);
        }
        assert_eq!(StepVerdict::of_times(&[1.0], &[2.0]).test, None);
    }

    #[test]
    fn a_small_difference_is_none_however_sure() {
        let a: Vec<f64> = (0..200).map(|i| 100.0 + 0.01 * f64::from(i % 2)).collect();
        let b: Vec<f64> = a.iter().map(|v| v + 0.1).collect();
        let verdict = StepVerdict::of_times(&a, &b);
        assert_eq!(verdict.verdict, Verdict::Unchanged);
        assert!(verdict.test.unwrap().p < 1e-9 && verdict.why.contains("0.10% of a step"), "{}", verdict.why);
        assert!((verdict.noise_floor_ps.unwrap() / 100.0 - STEP_SHARE).abs() < 1e-6);
    }

    #[test]
    fn three_steps_are_too_few_for_ranks_and_the_other_test_decides() {
        let verdict = StepVerdict::of_times(&[1.0, 1.001, 0.999], &[2.0, 2.001, 1.999]);
        assert_eq!(verdict.verdict, Verdict::Slower);
        assert!(verdict.why.contains("too few steps for a rank test"), "{}", verdict.why);
    }

    #[test]
    fn outliers_are_in_the_mean_and_the_verdict_without_them_stands_beside() {
        let step = |time_ps, class| StepTime { number: 0, class, time_ps, mean_ps: time_ps };
        let steady = |times: &[f64]| times.iter().map(|t| step(*t, StepClass::Steady)).collect::<Vec<_>>();
        let a = steady(&spread(100.0, 10));
        let mut b = steady(&spread(110.0, 10));
        b.extend([step(900.0, StepClass::Outlier), step(20.0, StepClass::Outlier)]);
        let verdict = StepVerdict::of(&a, &b);
        assert_eq!(verdict.verdict, Verdict::Unchanged, "{}", verdict.why);
        let (without, delta) = verdict.usual.unwrap();
        assert_eq!(without, Verdict::Slower);
        assert!((delta - 10.0).abs() < 1e-9 && verdict.delta_ps > 50.0);
        assert_eq!(StepVerdict::of(&a, &a).usual, None);
    }

    /// Sums of twelve draws of xorshift: nearly normal, and the same in every run of the test.
    struct Draws(u64);

    impl Draws {
        fn sample(&mut self, mean: f64, n: usize) -> Vec<f64> {
            let mut one = || {
                let draws = (0..12).map(|_| {
                    self.0 ^= self.0 << 13;
                    self.0 ^= self.0 >> 7;
                    self.0 ^= self.0 << 17;
                    (self.0 >> 11) as f64 / (1_u64 << 53) as f64
                });
                draws.sum::<f64>() - 6.0
            };
            (0..n).map(|_| mean * (1.0 + 0.03 * one())).collect()
        }
    }

    /// 400 ops, of which one differs, ten times over. One in twenty differs by chance at p < 0.05; corrected, one in a hundred
    /// sets of 400 may have a false alarm.
    #[test]
    fn many_ops_make_few_false_alarms() {
        let (mut plain, mut alarms) = (0, 0);
        for seed in 1..=10_u64 {
            let mut draws = Draws(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let mut runs: Vec<_> = (0..400).map(|_| (draws.sample(1e6, 12), draws.sample(1e6, 8))).collect();
            runs[7].1 = draws.sample(1.3e6, 8);
            let pairs: Vec<(&[f64], &[f64])> = runs.iter().map(|(a, b)| (&a[..], &b[..])).collect();
            let verdicts = of_ops(&pairs);
            assert_eq!(verdicts[7].change, Change::Slower);
            plain += verdicts.iter().filter(|v| v.test.is_some_and(|t| t.p < 0.05)).count();
            alarms += verdicts.iter().filter(|v| v.change != Change::Unchanged).count() - 1;
        }
        assert!((120..280).contains(&plain), "4,000 samples at 5%: {plain}");
        assert!(alarms <= 1, "{alarms} false alarms");
    }

    #[test]
    fn small_changes_of_an_op_and_few_steps() {
        let a = [1000.0, 1000.1, 999.9];
        let by = |d: f64| a.map(|v| v + d);
        let (small, large) = (by(5.0), by(-20.0));
        let verdicts = of_ops(&[(&a, &small), (&a, &large), (&a[..2], &large), (&a[..1], &large)]);
        let changes: Vec<_> = verdicts.iter().map(|v| v.change).collect();
        assert_eq!(changes, [Change::Unchanged, Change::Faster, Change::Undecided, Change::Undecided]);
        assert_eq!(verdicts[3].p, None);
    }
}
