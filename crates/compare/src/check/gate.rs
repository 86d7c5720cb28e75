//! The run against its baseline: the verdict of `compare`, asked as a gate asks it.

use super::budget::{Budget, Kind};
use super::interval::Interval;
use super::judge::Numbers;
use super::metric::Source;
use super::outcome::{Judged, Outcome};
use super::quantity::words;
use crate::analysis::{facts, metrics, values};
use crate::{Fact, StepVerdict, Verdict, comparable};
use haloscope_report::Error;
use haloscope_report::{Finding, Status, Table, Unit, Value};

/// A run and its baseline.
pub(super) struct Against {
    facts: Vec<Fact>,
    said: StepVerdict,
    /// Mean step times, picoseconds.
    before_ps: f64,
    now_ps: f64,
    tables: Vec<Table>,
    anyway: bool,
    status: Status,
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
            status: values::status_of(a, b),
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
        let status = self.status;
        let mut all = vec![Value::new(
            "step_verdict",
            "Step time",
            Some(self.said.verdict.word()),
            Unit::None,
            status,
            "Against the baseline, as `compare` says it: faster, slower, unchanged, undecided, not comparable.",
        )];
        all.extend(values::of_difference(&self.said, status));
        all
    }

    /// Whether the step time got worse: the verdict of `compare`, which a slow-down of no more than `tolerance` (a share of
    /// the baseline) does not fail. `None` where a budget says how much slower a step may be: then that decides.
    pub(super) fn judge(
        &self,
        budgets: &[Budget],
        tolerance: f64,
        allow_unknown: bool,
    ) -> Option<(Judged, Numbers)> {
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
        let around = |moved: f64| self.before_ps + moved;
        let interval = said.test.map(|t| Interval { low: around(t.low), high: around(t.high) });
        let slower = (outcome == Outcome::Fail && self.before_ps > 0.0).then(|| self.now_ps / self.before_ps);
        let judged = Judged {
            what: format!("step_time {asked} than the baseline"),
            outcome,
            may_be_unknown: allow_unknown,
            against_baseline: true,
            why,
            speedup: slower,
            seen_in: "steps",
        };
        let numbers = Numbers {
            metric: "step_time".to_owned(),
            asked,
            unit: Unit::Ps,
            limit: Some(self.before_ps * (1.0 + tolerance)),
            baseline: Some(self.before_ps),
            value: Some(self.now_ps),
            interval,
        };
        Some((judged, numbers))
    }
}
