//! Whether to keep a change: what the ratchet loop's score says, and what the samples say.
//!
//! The loop (an agent changes a kernel, measures, keeps the commit if the score rose and takes it back if not) scores
//! `utilization in percent x 100 / latency in milliseconds`. Utilization is work over time, so that the score is the work
//! counted over the time squared: it rewards speed twice, and falls when less work is counted, though the program is no
//! slower. Noise raises it as well as speed does. So it is shown, and what is advised rests on the times alone.

use super::change_points;
use super::entry::{Entry, Samples};
use super::metrics::{Better, STEP_TIME, WINDOW, WORK, tracked};
use super::parse::Ledger;
use haloscope_compare::significance::{Moments, Test, difference, welch_of};
use haloscope_compare::verdict::{LEAST_STEPS, STEP_P, STEP_SHARE};

/// A difference below this share is of no use to anybody: the threshold that `compare` has too.
pub const LEAST_SHARE: f64 = STEP_SHARE;
/// So many entries of one level say what runs differ by without a cause.
const ENOUGH_RUNS: usize = 4;
/// Utilization, by ids, the best first.
const UTILIZATION: [&str; 2] = ["mfu", "flop_share_of_peak"];
const PS_PER_MS: f64 = 1e9;

/// What is advised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    /// It is surely better.
    Keep,
    /// It is surely worse.
    Revert,
    /// It is surely neither, by more than [`LEAST_SHARE`].
    Unchanged,
    /// The samples do not say.
    Undecided,
    /// The entries are of different devices.
    NotComparable,
}

impl Word {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::Revert => "revert",
            Self::Unchanged => "unchanged",
            Self::Undecided => "undecided",
            Self::NotComparable => "not comparable",
        }
    }
}

/// A difference of a number of two entries.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judged {
    /// What follows.
    pub word: Word,
    /// The number before.
    pub before: Option<f64>,
    /// The number after.
    pub after: Option<f64>,
    /// The difference with the 95% interval that the samples of the two runs give (Welch); `None` without samples.
    pub within: Option<Test>,
    /// The difference from the level of the entries before, with the 95% interval in which another run of the same
    /// would fall; `None` for too few entries.
    pub between: Option<Test>,
    /// What runs of that level differ by: a standard deviation.
    pub between_sd: Option<f64>,
}

impl Judged {
    /// What `compare` would call it.
    #[must_use]
    pub fn verdict(&self) -> &'static str {
        match self.word {
            Word::Keep => "faster",
            Word::Revert => "slower",
            other => other.word(),
        }
    }
}

/// The score of the ratchet loop before and after.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Score {
    /// The metric that utilization is taken from.
    pub utilization: &'static str,
    /// The metric that latency is taken from.
    pub latency: &'static str,
    /// The score before.
    pub before: f64,
    /// The score after.
    pub after: f64,
    /// How many times as fast it is: latency before over latency after.
    pub speed: f64,
    /// How many times as much work is counted after: FLOPs of a step; where they are not known, utilization times latency.
    pub work: f64,
}

impl Score {
    /// What the loop would do.
    #[must_use]
    pub fn says(&self) -> Word {
        if self.after > self.before { Word::Keep } else { Word::Revert }
    }

    /// The score after, had as much work been counted as before.
    #[must_use]
    pub fn with_the_same_work(&self) -> f64 {
        self.after / self.work
    }
}

/// The advice on the last entry.
#[derive(Debug, Clone, PartialEq)]
pub struct Advice {
    /// Position of the entry that is judged.
    pub candidate: usize,
    /// Position of the one that it is held against.
    pub reference: usize,
    /// Why that one.
    pub chosen: &'static str,
    /// The metric that is judged.
    pub metric: String,
    /// What its difference says.
    pub judged: Judged,
    /// The score; `None` where utilization or latency of one is not known, or the devices differ.
    pub score: Option<Score>,
}

/// Advice on the last of at least two entries, by this metric.
#[must_use]
pub fn advise(ledger: &Ledger, metric: Option<&str>) -> Option<Advice> {
    let candidate = ledger.entries.len().checked_sub(1)?;
    let (reference, chosen) = reference(ledger, candidate, true)?;
    let metric = metric.unwrap_or_else(|| latency_of(ledger, [reference, candidate]));
    let judged = judge(ledger, reference, candidate, metric);
    let [a, b] = [reference, candidate].map(|at| &ledger.entries[at].entry);
    // Of other devices the score is no more comparable than the times.
    let score = if judged.word == Word::NotComparable { None } else { score(a, b) };
    Some(Advice { candidate, reference, chosen, metric: metric.to_owned(), judged, score })
}

/// What an entry is held against: of those before it on the same devices the last one that was kept, if `kept` asks for it and there
/// is one; else the last one that was not reverted; else the last. Where there is none such, the one right before.
pub(super) fn reference(ledger: &Ledger, candidate: usize, kept: bool) -> Option<(usize, &'static str)> {
    use super::Decision::{Keep, Revert};
    let right_before = candidate.checked_sub(1)?;
    let entry = |at: usize| &ledger.entries[at].entry;
    let fits = |at: &usize| comparable(entry(*at), entry(candidate));
    let last = |with: &dyn Fn(usize) -> bool| (0..candidate).rev().filter(fits).find(|at| with(*at));
    if kept && let Some(at) = last(&|at| entry(at).decision == Some(Keep)) {
        return Some((at, "the last one that was kept"));
    }
    if let Some(at) = last(&|at| entry(at).decision != Some(Revert)) {
        return Some((
            at,
            if at == right_before { "the one before" } else { "the last one that was not reverted" },
        ));
    }
    Some((last(&|_| true).unwrap_or(right_before), "the one before"))
}

/// Whether two entries are of the same devices, as far as they say.
pub(super) fn comparable(a: &Entry, b: &Entry) -> bool {
    let same = |a: bool, b: bool, equal: bool| !(a && b) || equal;
    same(a.device_type.is_some(), b.device_type.is_some(), a.device_type == b.device_type)
        && same(a.device_count.is_some(), b.device_count.is_some(), a.device_count == b.device_count)
}

/// Holds one entry's number against another's. Between the two intervals the more careful one decides.
fn judge(ledger: &Ledger, reference: usize, candidate: usize, metric: &str) -> Judged {
    let (a, b) = (&ledger.entries[reference].entry, &ledger.entries[candidate].entry);
    let level = b.value(metric).zip(level(ledger, reference, candidate, metric));
    let between = level.and_then(|(after, (mean, sd, n))| {
        let se = sd * (1.0 + 1.0 / n).sqrt();
        difference(after - mean, se, n - 1.0)
    });
    Judged { between_sd: level.map(|(_, (_, sd, _))| sd), ..judge_pair(a, b, metric, between) }
}

/// The same of two entries alone; `between` is the interval of what runs differ by.
pub(super) fn judge_pair(a: &Entry, b: &Entry, metric: &str, between: Option<Test>) -> Judged {
    let (before, after) = (a.value(metric), b.value(metric));
    let mut judged =
        Judged { word: Word::Undecided, before, after, within: None, between: None, between_sd: None };
    if !comparable(a, b) {
        return Judged { word: Word::NotComparable, ..judged };
    }
    let of = |s: Samples| {
        s.sd.filter(|_| s.n as usize >= LEAST_STEPS).map(|sd| Moments { count: s.n as f64, mean: s.mean, sd })
    };
    let samples = a.samples(metric).and_then(of).zip(b.samples(metric).and_then(of));
    judged.within = samples.and_then(|(a, b)| welch_of(&a, &b));
    judged.between = between;
    // A run without steps is judged by what all of it took.
    let better = tracked(metric).map_or(Better::Neither, |metric| metric.better);
    judged.word = word(&judged, before, if metric == WINDOW { Better::Less } else { better });
    judged
}

fn word(judged: &Judged, before: Option<f64>, better: Better) -> Word {
    let Some(before) = before else { return Word::Undecided };
    let least = LEAST_SHARE * before.abs();
    let all: Vec<Test> = judged.within.into_iter().chain(judged.between).collect();
    if all.is_empty() {
        return Word::Undecided;
    }
    let less = all.iter().all(|i| i.p < STEP_P && i.delta < -least);
    let more = all.iter().all(|i| i.p < STEP_P && i.delta > least);
    match better {
        Better::Less if less => Word::Keep,
        Better::Less if more => Word::Revert,
        Better::More if more => Word::Keep,
        Better::More if less => Word::Revert,
        _ if all.iter().all(|i| i.low > -least && i.high < least) => Word::Unchanged,
        _ => Word::Undecided,
    }
}

/// Mean, standard deviation and number of the entries at the level of the reference; `None` for too few. Entries that were
/// taken back, and those of other devices, are not of it.
fn level(ledger: &Ledger, reference: usize, candidate: usize, metric: &str) -> Option<(f64, f64, f64)> {
    let like = &ledger.entries[reference].entry;
    let of_it = |at: &usize| {
        let entry = &ledger.entries[*at].entry;
        comparable(entry, like) && entry.decision != Some(super::Decision::Revert)
    };
    let known = |at: usize| Some((at, ledger.entries[at].entry.value(metric)?));
    let values: Vec<(usize, f64)> = (0..candidate).filter(of_it).filter_map(known).collect();
    let numbers: Vec<f64> = values.iter().map(|(_, v)| *v).collect();
    let found = change_points::find(&numbers);
    if found.drift.is_some() {
        return None;
    }
    let holds = |s: &&change_points::Stretch| s.at.iter().any(|at| values[*at].0 == reference);
    let stretch = found.stretches.iter().find(holds)?;
    let n = stretch.at.len();
    // Runs that are alike to the last digit were not measured twice, or measure what does not vary.
    let sd = stretch.sd.filter(|sd| n >= ENOUGH_RUNS && *sd > 0.0)?;
    Some((stretch.mean, sd, n as f64))
}

/// The time of a step where both entries know one, else what the run took.
fn latency_of(ledger: &Ledger, both: [usize; 2]) -> &'static str {
    let known = |metric: &str| both.iter().all(|at| ledger.entries[*at].entry.value(metric).is_some());
    if !known(STEP_TIME) && known(WINDOW) { WINDOW } else { STEP_TIME }
}

fn score(a: &Entry, b: &Entry) -> Option<Score> {
    let both = |metric: &'static str| {
        let pair = a.value(metric).zip(b.value(metric));
        pair.filter(|(a, b)| *a > 0.0 && *b > 0.0).map(|pair| (metric, pair))
    };
    let (latency, (la, lb)) = both(STEP_TIME).or_else(|| both(WINDOW))?;
    let (utilization, (ua, ub)) = UTILIZATION.into_iter().find_map(both)?;
    let of = |share: f64, ps: f64| share * 100.0 * 100.0 / (ps / PS_PER_MS);
    let counted = both(WORK).filter(|_| latency == STEP_TIME).map(|(_, (a, b))| b / a);
    Some(Score {
        utilization,
        latency,
        before: of(ua, la),
        after: of(ub, lb),
        speed: la / lb,
        work: counted.unwrap_or((ub * lb) / (ua * la)),
    })
}

#[cfg(test)]
mod tests;
