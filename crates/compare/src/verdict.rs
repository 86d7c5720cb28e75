//! What may be said of a difference of the step time: it changed, it is the same, or nobody can tell yet.
//!
//! "The same" is shown as much as "changed" is: the interval of the difference lies within a margin (two one-sided tests,
//! Schuirmann 1987). What is neither is undecided, and it is said how many steps would decide.

mod evidence;
mod ops;

use super::StepTime;
use super::samples::mean;
use crate::significance::{Test, normal_deviations};
use haloscope_report::units;
use haloscope_time::stats::Summary;
use haloscope_time::steps::StepClass;

pub use evidence::{Between, Few, Gap, Onset};
use evidence::{Evidence, Series};
pub use ops::{Change, OP_MARGIN, OP_P, OP_SHARE, OpVerdict, of_ops};

/// The step time changed only where the chance of its difference, of the means or of the usual steps, is below this,
pub const STEP_P: f64 = 0.004;
/// and the difference above this share of the baseline's step.
pub const STEP_SHARE: f64 = 0.002;
/// It is the same where the difference is shown to be within this share of the baseline's step, where nothing else is asked.
pub const MARGIN: f64 = 0.01;
/// The chance with which a difference beyond the margin is called the same, at most.
pub const SAME_P: f64 = 0.05;
/// A run with fewer steps says nothing of its noise.
pub const LEAST_STEPS: usize = 3;
/// Nobody captures more steps than this to decide.
const MOST_STEPS: f64 = 10_000.0;

/// What became of the step time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is shorter, by more than noise.
    Faster,
    /// It is longer, by more than noise.
    Slower,
    /// It is the same: a difference beyond the margin is ruled out.
    Unchanged,
    /// Neither is shown.
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

/// What a verdict of a change rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// The means of all counted steps.
    Mean,
    /// The usual steps: their shift by ranks.
    Usual,
    /// A few slow steps that only one run has.
    Few,
    /// A level that begins within a run.
    Onset,
}

impl By {
    /// The word used in reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Usual => "usual steps",
            Self::Few => "a few steps",
            Self::Onset => "from a step on",
        }
    }
}

/// How a difference is judged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Terms {
    /// Within this share of the baseline's step it is the same.
    pub margin: f64,
    /// What whole runs of one program differ by, where several are known.
    pub between: Option<Between>,
    /// Runs that the baseline's steps are of.
    pub baseline_runs: usize,
}

impl Default for Terms {
    fn default() -> Self {
        Self { margin: MARGIN, between: None, baseline_runs: 1 }
    }
}

/// The step times of two runs, held against each other. Times are picoseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct StepVerdict {
    /// What may be said.
    pub verdict: Verdict,
    /// What says that it changed; empty where nothing does.
    pub by: Vec<By>,
    /// The mean of the experiment less that of the baseline, over all counted steps: what the user gets.
    pub delta_ps: f64,
    /// The same over the baseline's mean; `None` where that is 0.
    pub delta_share: Option<f64>,
    /// Welch's test, its error widened for neighbours that are alike; `None` with fewer than two steps in a run.
    pub test: Option<Test>,
    /// The rank test's p.
    pub rank_p: Option<f64>,
    /// The shift of the usual steps (Hodges and Lehmann) with its 95% interval and p by ranks; warm-up is left out.
    pub usual_shift: Option<Test>,
    /// Slow steps that one run has more of.
    pub few: Option<Few>,
    /// A level that begins within a run.
    pub onset: Option<Onset>,
    /// Within this share of the baseline's step it is called the same.
    pub margin: f64,
    /// The ends of the interval that must lie within the margin to be the same: of mean and usual steps the farther ones.
    pub same_ps: Option<(f64, f64)>,
    /// About so many steps of each run would decide; `None` where it is decided, or no number of steps that anybody captures would.
    pub steps_to_decide: Option<usize>,
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
    pub fn of(baseline: &[StepTime], experiment: &[StepTime], terms: Terms) -> Self {
        let (a, b) = alike(baseline, experiment);
        let base = mean(&times(baseline));
        let warm_up =
            |steps: &[StepTime]| steps.iter().take_while(|step| step.class == StepClass::WarmUp).count();
        let mut all = judge(
            Series { all: &a, warm_up: warm_up(baseline), steps: baseline },
            Series { all: &b, warm_up: warm_up(experiment), steps: experiment },
            base,
            terms,
        );
        // What the user gets: of runs whose steps are of several kinds, too.
        all.delta_ps = mean(&times(experiment)) - base;
        all.delta_share = (base > 0.0).then(|| all.delta_ps / base);
        let usual = |steps: &[StepTime], times: &[f64]| -> Vec<f64> {
            let steady = steps.iter().zip(times).filter(|(step, _)| step.class == StepClass::Steady);
            steady.map(|(_, ps)| *ps).collect()
        };
        let (a, b) = (usual(baseline, &a), usual(experiment, &b));
        let without = judge(Series::plain(&a), Series::plain(&b), base, terms);
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
        judge(Series::plain(a), Series::plain(b), base, Terms::default())
    }

    /// The step times of runs that cannot be compared: no verdict on the difference, for this reason.
    #[must_use]
    pub fn not_comparable(self, why: impl Into<String>) -> Self {
        let (by, steps_to_decide) = (Vec::new(), None);
        Self { verdict: Verdict::NotComparable, why: why.into(), usual: None, by, steps_to_decide, ..self }
    }

    /// By how much it changed, picoseconds: the difference that the verdict rests on.
    #[must_use]
    pub fn told_ps(&self) -> f64 {
        let usual = self.usual_shift.map_or(self.delta_ps, |usual| usual.delta);
        match self.by.first() {
            Some(By::Usual) if (usual > 0.0) != (self.delta_ps > 0.0) => usual,
            Some(By::Onset) => match self.onset {
                Some(onset) if (onset.delta_ps > 0.0) != (self.delta_ps > 0.0) => onset.delta_ps,
                _ => self.delta_ps,
            },
            _ => self.delta_ps,
        }
    }
}

fn times(steps: &[StepTime]) -> Vec<f64> {
    steps.iter().map(|step| step.time_ps).collect()
}

/// The step times of two runs as if all steps were of one kind: where steps do unlike work (training and evaluation), each
/// less the baseline's median of its kind, so that only what a kind takes more or less is left. Where a kind is in one run only,
/// or all are of one kind, as they are.
fn alike(baseline: &[StepTime], experiment: &[StepTime]) -> (Vec<f64>, Vec<f64>) {
    let (a, b) = (times(baseline), times(experiment));
    let mut kinds: Vec<u64> = baseline.iter().chain(experiment).map(|step| step.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let of = |kind: u64, steps: &[StepTime]| -> Vec<f64> {
        steps.iter().filter(|step| step.kind == kind).map(|step| step.time_ps).collect()
    };
    let in_both = |kind: &u64| of(*kind, baseline).len() > 1 && of(*kind, experiment).len() > 1;
    if kinds.len() < 2 || !kinds.iter().all(in_both) {
        return (a, b);
    }
    let medians: Vec<(u64, f64)> = kinds
        .iter()
        .map(|kind| (*kind, Summary::of(&of(*kind, baseline)).map_or(0.0, |all| all.p50)))
        .collect();
    let median = |kind: u64| medians.iter().find(|(known, _)| *known == kind).map_or(0.0, |(_, ps)| *ps);
    let usual = mean(&baseline.iter().map(|step| median(step.kind)).collect::<Vec<_>>());
    let less = |steps: &[StepTime]| -> Vec<f64> {
        steps.iter().map(|step| step.time_ps - median(step.kind) + usual).collect()
    };
    (less(baseline), less(experiment))
}

fn judge(a: Series<'_>, b: Series<'_>, base: f64, terms: Terms) -> StepVerdict {
    let delta_ps = mean(b.all) - mean(a.all);
    let share = |ps: f64| (base > 0.0).then(|| ps / base);
    let found = Evidence::of(a, b, base, terms);
    let test = |gap: Gap| {
        let (low, high) = gap.interval(0.05);
        Test { delta: gap.delta_ps, low, high, p: gap.p }
    };
    let floors = [found.mean, found.usual].into_iter().flatten().map(|gap| gap.reach(STEP_P));
    let noise_floor_ps = found.mean.and_then(|_| floors.reduce(f64::min)).map(|ps| ps.max(STEP_SHARE * base));
    let mut said = StepVerdict {
        verdict: Verdict::Undecided,
        by: Vec::new(),
        delta_ps,
        delta_share: share(delta_ps),
        test: found.mean.map(test),
        rank_p: found.rank_p,
        usual_shift: found.usual.map(test),
        few: found.few,
        onset: found.onset,
        margin: terms.margin,
        same_ps: same_interval(&found, terms.margin * base),
        steps_to_decide: None,
        noise_floor_ps,
        noise_floor_share: noise_floor_ps.and_then(share),
        baseline_steps: a.all.len(),
        experiment_steps: b.all.len(),
        why: String::new(),
        usual: None,
    };
    if a.all == b.all && a.all.len() >= LEAST_STEPS {
        // A run against itself.
        said.verdict = Verdict::Unchanged;
        said.same_ps = Some((0.0, 0.0));
        said.why = "every step takes exactly as long".to_owned();
        return said;
    }
    decide(&mut said, &found, base);
    if said.verdict == Verdict::Undecided {
        said.steps_to_decide = steps_to_decide(&said, [a.all, b.all], base);
    }
    said
}

/// The interval that must lie within the margin: of means and of usual steps the farther ends. Each side is a test of its own. Where both
/// runs have slow steps, and by as much as makes no difference, they say nothing of the mean's noise: it is that of the usual
/// steps, with what the slow ones add.
fn same_interval(found: &Evidence, margin: f64) -> Option<(f64, f64)> {
    let (of_mean, of_usual) = (found.mean?.interval(2.0 * SAME_P), found.usual?.interval(2.0 * SAME_P));
    let both_slow = found.few.filter(|few| few.others > 0 && !few.is_told && few.delta_ps.abs() < margin);
    let of_mean = both_slow.map_or(of_mean, |few| (of_usual.0 + few.delta_ps, of_usual.1 + few.delta_ps));
    Some((of_mean.0.min(of_usual.0), of_mean.1.max(of_usual.1)))
}

/// A kind of evidence that says that something changed: the way, and its words.
struct Says {
    by: By,
    slower: bool,
    words: String,
}

fn decide(said: &mut StepVerdict, found: &Evidence, base: f64) {
    let (n, m) = (said.baseline_steps, said.experiment_steps);
    let Some(of_means) = found.mean.filter(|_| n >= LEAST_STEPS && m >= LEAST_STEPS) else {
        let steps = |n: usize| format!("{n} step{}", if n == 1 { "" } else { "s" });
        said.why = format!(
            "the baseline has {}, the experiment {}: with fewer than {LEAST_STEPS} in each, a difference cannot be told from noise",
            steps(n),
            steps(m)
        );
        return;
    };
    let all = says(found, base, said.margin);
    let Some(slower) = direction(&all, found, said.delta_ps) else {
        return same_or_not(said, found, of_means, base);
    };
    said.verdict = if slower { Verdict::Slower } else { Verdict::Faster };
    let (own, against): (Vec<&Says>, Vec<&Says>) = all.iter().partition(|says| says.slower == slower);
    said.by = own.iter().map(|says| says.by).collect();
    let mut why = own.iter().map(|says| says.words.as_str()).collect::<Vec<_>>().join(", ");
    if !against.is_empty() {
        let words: Vec<&str> = against.iter().map(|says| says.words.as_str()).collect();
        why += &format!("; the other way go {}", words.join(", "));
    }
    said.why = why;
}

/// All that says of a change, what holds of most steps first.
fn says(found: &Evidence, base: f64, margin: f64) -> Vec<Says> {
    let least = STEP_SHARE * base;
    let p = |gap: Gap| units::number(gap.p);
    let mut all = Vec::new();
    let is_told = |gap: &Gap| gap.p < STEP_P && gap.delta_ps.abs() > least;
    if let Some(gap) = found.mean.filter(is_told) {
        let words = format!("p = {} (Welch)", p(gap));
        all.push(Says { by: By::Mean, slower: gap.delta_ps > 0.0, words });
    }
    if let Some(gap) = found.usual.filter(is_told) {
        let words = format!("p = {} by ranks", p(gap));
        all.push(Says { by: By::Usual, slower: gap.delta_ps > 0.0, words });
    }
    // That one slow step of the baseline is gone is no gain where the usual steps may be slower.
    let may_be_slower = |few: &Few| {
        let usual_step = base + few.delta_ps.min(0.0);
        found.usual.is_none_or(|gap| gap.interval(2.0 * SAME_P).1 > margin * usual_step)
    };
    let is_gain = |few: &Few| few.delta_ps > 0.0 || few.slow > 1 || !may_be_slower(few);
    if let Some(few) = found.few.filter(|few| few.is_told && is_gain(few)) {
        all.push(Says { by: By::Few, slower: few.delta_ps > 0.0, words: few_words(&few) });
    }
    if let Some(onset) = found.onset {
        all.push(Says { by: By::Onset, slower: onset.delta_ps > 0.0, words: onset_words(&onset, base) });
    }
    all
}

/// `2 of the experiment's 12 steps take up to 1.46 times as long as usual, and none of the baseline's`.
fn few_words(few: &Few) -> String {
    let (whose, other) = sides(few.delta_ps > 0.0);
    let take = if few.slow == 1 { "takes" } else { "take up to" };
    let others = match few.others {
        0 => "none".to_owned(),
        n => n.to_string(),
    };
    format!(
        "{} of the {whose}'s {} steps {take} {} times as long as usual, and {others} of the {other}'s",
        few.slow,
        few.of,
        units::number(few.times)
    ) + if few.is_new_program { "; a program ran there for the first time" } else { "" }
}

/// `1 of the experiment's 12 steps takes ...: an outlier, not a change of the step time`, of slow steps that are not told as one.
fn outlier_words(few: &Few) -> String {
    let is_outlier = few.slow == 1 && few.others == 0;
    let so = if is_outlier { ": an outlier, not a change of the step time" } else { ", which may be chance" };
    few_words(few) + so
}

fn onset_words(onset: &Onset, base: f64) -> String {
    let (whose, _) = sides(onset.is_in_experiment);
    let delta = if onset.is_in_experiment { onset.delta_ps } else { -onset.delta_ps };
    let sign = if delta > 0.0 { "+" } else { "" };
    let share = if base > 0.0 { format!(" ({sign}{})", units::share(delta / base)) } else { String::new() };
    format!(
        "from its {} counted step on the {whose} is at {sign}{}{share}",
        ordinal(onset.at + 1),
        units::duration_ps(delta)
    )
}

fn ordinal(n: usize) -> String {
    let end = match (n % 10, n % 100) {
        (1, k) if k != 11 => "st",
        (2, k) if k != 12 => "nd",
        (3, k) if k != 13 => "rd",
        _ => "th",
    };
    format!("{n}{end}")
}

fn sides(is_experiment: bool) -> (&'static str, &'static str) {
    if is_experiment { ("experiment", "baseline") } else { ("baseline", "experiment") }
}

/// Whether all evidence together says slower; `None` where it says nothing, or not one thing.
fn direction(all: &[Says], found: &Evidence, delta_ps: f64) -> Option<bool> {
    let first = all.first()?.slower;
    if all.iter().all(|says| says.slower == first) {
        return Some(first);
    }
    let of = |by: By| all.iter().find(|says| says.by == by).map(|says| says.slower);
    // What the user gets, where it is sure.
    if let Some(slower) = of(By::Mean) {
        return Some(slower);
    }
    let few = found.few.filter(|few| few.is_told)?;
    match of(By::Usual).or(of(By::Onset)) {
        // Slow steps that come again are of the program: what they add is in the mean.
        Some(_) if few.slow > 1 => Some(delta_ps > 0.0),
        // One slow step of the baseline hides no shift, and one of the experiment is not paid for by faster ones.
        Some(usual) if few.delta_ps < 0.0 => Some(usual),
        _ => Some(true),
    }
}

/// Nothing says that it changed: whether it is shown to be the same.
fn same_or_not(said: &mut StepVerdict, found: &Evidence, of_means: Gap, base: f64) {
    let margin = said.margin * base;
    let Some((low, high)) = said.same_ps else { return };
    let signed = |ps: f64| format!("{}{}", if ps > 0.0 { "+" } else { "" }, units::duration_ps(ps));
    let interval = format!("{} to {}", signed(low), signed(high));
    let within = units::share(said.margin);
    let is_within = low > -margin && high < margin && base > 0.0 && found.onset.is_none();
    if is_within || (low == 0.0 && high == 0.0) {
        said.verdict = Verdict::Unchanged;
        said.why = format!("the interval of the difference, {interval}, lies within {within} of a step");
        return;
    }
    said.why = if found.onset.is_some() {
        "parts of the run change in different directions".to_owned()
    } else if low >= margin || high <= -margin {
        format!(
            "p = {} (Welch), not below {STEP_P}, and the interval of the difference, {interval}, lies beyond {within} of a step",
            units::number(of_means.p)
        )
    } else {
        format!("the interval of the difference, {interval}, straddles the margin of {within} of a step")
    };
    if let Some(few) = found.few.filter(|few| !few.is_told) {
        said.why += &format!("; {}", outlier_words(&few));
    }
}

/// How many steps of each run would decide, did they go on as they are.
fn steps_to_decide(said: &StepVerdict, runs: [&[f64]; 2], base: f64) -> Option<usize> {
    let test = said.test?;
    let (n, m) = (said.baseline_steps as f64, said.experiment_steps as f64);
    // The variance of the difference times the number of steps, were there as many of both.
    let spread = |s: &[f64]| Summary::of(s).and_then(|all| all.standard_deviation).unwrap_or(0.0).powi(2);
    let error = (test.high - test.low) / 4.0;
    let per_step =
        (error * error / (1.0 / n + 1.0 / m) * 2.0).max(0.5 * runs.iter().map(|s| spread(s)).sum::<f64>());
    let needed =
        |distance: f64, sure: f64| (distance > 0.0).then(|| 2.0 * per_step * (sure / distance).powi(2));
    let to_differ =
        needed(test.delta.abs(), normal_deviations(STEP_P)).filter(|_| test.delta.abs() > STEP_SHARE * base);
    let to_be_same = needed(said.margin * base - test.delta.abs(), normal_deviations(2.0 * SAME_P));
    let steps = [to_differ, to_be_same].into_iter().flatten().reduce(f64::min)?;
    let more = (n.min(m) + 1.0).max(2.0 * LEAST_STEPS as f64);
    (steps <= MOST_STEPS).then(|| steps.ceil().max(more) as usize)
}

#[cfg(test)]
mod tests;
