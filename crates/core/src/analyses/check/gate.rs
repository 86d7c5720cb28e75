//! The run against its baseline: the verdict of `compare`, asked as a gate asks it.

use super::budget::{Budget, Kind};
use super::metric::Source;
use super::outcome::{Judged, Outcome};
use super::quantity::words;
use crate::Error;
use crate::analyses::compare::{facts, metrics};
use crate::derive::compare::{Fact, StepVerdict, Verdict, comparable};
use crate::report::{Finding, Status, Table, Unit, Value};

/// A run and its baseline.
pub(super) struct Against {
    facts: Vec<Fact>,
    said: StepVerdict,
    /// Mean step times, picoseconds.
    before_ps: f64,
    now_ps: f64,
    tables: Vec<Table>,
    anyway: bool,
    is_inferred: bool,
}

impl Against {
    /// Holds a run against its baseline.
    ///
    /// # Errors
    /// [`Error::Nothing`] where one of both has no ops.
    pub(super) fn of(baseline: &Source<'_>, run: &Source<'_>, anyway: bool) -> Result<Self, Error> {
        let (a, b) = (baseline.samples()?, run.samples()?);
        let facts = comparable::facts(a, b, run.scope);
        let said = StepVerdict::of(&a.steps, &b.steps);
        let is_comparable = anyway || comparable::are_comparable(&facts);
        let both = metrics::table(baseline.metrics()?, run.metrics()?, is_comparable);
        Ok(Self {
            said: if is_comparable { said } else { said.not_comparable(String::new()) },
            before_ps: a.mean_ps(),
            now_ps: b.mean_ps(),
            tables: vec![both, facts::table(&facts)],
            facts,
            anyway,
            is_inferred: a.source.is_inferred() || b.source.is_inferred(),
        })
    }

    /// Whether both are of one piece of work on one machine, or are held against each other anyway.
    pub(super) fn is_comparable(&self) -> bool {
        self.said.verdict != Verdict::NotComparable
    }

    /// What differs between both.
    pub(super) fn findings(&self) -> Vec<Finding> {
        facts::findings(&self.facts, self.anyway)
    }

    /// The tables of `compare` that a gate shows.
    pub(super) fn tables(&self) -> Vec<Table> {
        self.tables.clone()
    }

    /// The numbers of `compare` that a gate passes on, under the same ids.
    pub(super) fn values(&self) -> Vec<Value> {
        let status = if self.is_inferred { Status::Estimated } else { Status::Derived };
        let said = &self.said;
        let ps = |id, label, value: Option<f64>, doc| Value::new(id, label, value, Unit::Ps, status, doc);
        let share =
            |id, label, value: Option<f64>, doc| Value::new(id, label, value, Unit::Share, status, doc);
        let ratio =
            |id, label, value: Option<f64>, doc| Value::new(id, label, value, Unit::Ratio, status, doc);
        let count =
            |id, label, n: usize, doc| Value::new(id, label, Some(n), Unit::Count, Status::Measured, doc);
        let (low, high) = (said.test.map(|t| t.low), said.test.map(|t| t.high));
        vec![
            Value::new(
                "step_verdict",
                "Step time",
                Some(said.verdict.word()),
                Unit::None,
                status,
                "Against the baseline, as `compare` says it: faster, slower, unchanged, undecided, not comparable.",
            ),
            ps(
                "step_delta_ps",
                "Step time, difference",
                Some(said.delta_ps),
                "Mean step time less the baseline's.",
            ),
            share(
                "step_delta_share",
                "The same, share",
                said.delta_share,
                "Over the baseline's mean step time.",
            ),
            ps("step_delta_low_ps", "Difference, low", low, "Low end of the 95% interval (Welch)."),
            ps("step_delta_high_ps", "Difference, high", high, "High end of the 95% interval."),
            ratio("step_delta_p", "p, Welch", said.test.map(|t| t.p), "Welch's t test."),
            ratio("step_delta_rank_p", "p, ranks", said.rank_p, "The rank test of Mann and Whitney."),
            ps(
                "noise_floor_ps",
                "Noise floor",
                said.noise_floor_ps,
                "The smallest difference of the step time that would have been told from noise here.",
            ),
            share(
                "noise_floor_share",
                "Noise floor, share",
                said.noise_floor_share,
                "Over the baseline's step time.",
            ),
            count("baseline_steps", "Steps, baseline", said.baseline_steps, "Steps that count."),
            count("experiment_steps", "Steps, run", said.experiment_steps, "Steps that count."),
        ]
    }

    /// Whether the step time got worse: the verdict of `compare`, which a slow-down of no more than `tolerance` (a share of
    /// the baseline) does not fail. `None` where a budget says how much slower a step may be: then that decides.
    pub(super) fn judge(&self, budgets: &[Budget], tolerance: f64, allow_unknown: bool) -> Option<Judged> {
        let is_step =
            |id: &str| matches!(id, "step_time" | "step_time_mean_ps" | "overview.step_time_mean_ps");
        let says_more = |b: &Budget| is_step(&b.metric) && b.kind == Kind::MaxIncrease;
        if !self.is_comparable() || budgets.iter().any(says_more) {
            return None;
        }
        let said = &self.said;
        let ps = |v: f64| words(v, Unit::Ps);
        let sign = if said.delta_ps < 0.0 { "" } else { "+" };
        let share =
            said.delta_share.map_or_else(String::new, |s| format!(" ({sign}{})", words(s, Unit::Share)));
        let interval = said
            .test
            .map_or_else(String::new, |t| format!(", between {} and {} at 95%", ps(t.low), ps(t.high)));
        let moved = format!("{sign}{} a step{share}{interval}; {}", ps(said.delta_ps), said.why);
        let is_tolerated = said.delta_share.is_some_and(|share| share <= tolerance);
        let (outcome, word) = match said.verdict {
            Verdict::Slower if is_tolerated => (Outcome::Pass, "slower, but by no more than may be"),
            Verdict::Slower => (Outcome::Fail, "slower than the baseline"),
            Verdict::Faster => (Outcome::Pass, "faster than the baseline"),
            Verdict::Unchanged => (Outcome::Pass, "no difference that is more than noise"),
            Verdict::Undecided | Verdict::NotComparable => (Outcome::Unknown, "undecided"),
        };
        let floor =
            said.noise_floor_ps.zip(said.noise_floor_share).filter(|_| said.verdict == Verdict::Unchanged);
        // What a gate would have let through.
        let floor = floor.map_or_else(String::new, |(floor, share)| {
            format!(". Less than {} ({}) would not have been told", ps(floor), words(share, Unit::Share))
        });
        let why = format!("{word}: {moved}{floor}");
        let asked = if tolerance > 0.0 {
            format!("at most {} slower", words(tolerance, Unit::Share))
        } else {
            "no slower".to_owned()
        };
        let around = |moved: Option<f64>| moved.map(|moved| self.before_ps + moved);
        let cells = vec![
            "step_time".into(),
            asked.as_str().into(),
            outcome.word().into(),
            Unit::Ps.word().into(),
            (self.before_ps * (1.0 + tolerance)).into(),
            self.before_ps.into(),
            self.now_ps.into(),
            around(said.test.map(|t| t.low)).into(),
            around(said.test.map(|t| t.high)).into(),
            why.as_str().into(),
        ];
        let slower = (outcome == Outcome::Fail && self.before_ps > 0.0).then(|| self.now_ps / self.before_ps);
        Some(Judged {
            what: format!("step_time {asked} than the baseline"),
            outcome,
            may_be_unknown: allow_unknown,
            against_baseline: true,
            why,
            speedup: slower,
            seen_in: "steps",
            cells,
        })
    }
}
