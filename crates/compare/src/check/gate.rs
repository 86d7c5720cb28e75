//! The run against its baseline: the verdict of `compare`, asked as a gate asks it.

use super::budget::{Budget, Kind};
use super::interval::Interval;
use super::judge::Numbers;
use super::metric::Source;
use super::outcome::{Judged, Outcome};
use super::quantity::words;
use crate::analysis::regressions::Regressions;
use crate::analysis::{facts, metrics, values};
use crate::samples::mean;
use crate::verdict::LEAST_STEPS;
use crate::{Between, Fact, RunSamples, StepTime, StepVerdict, Terms, Verdict, comparable};
use haloscope_report::Error;
use haloscope_report::{Finding, Status, Table, Unit, Value};
use haloscope_time::steps::StepClass;

/// So many slower ops are named.
const TOLD_OPS: usize = 5;

/// A run and its baseline, or several runs of that.
pub(super) struct Against {
    facts: Vec<Fact>,
    said: StepVerdict,
    /// Mean step times, picoseconds; of several runs of the baseline their mean.
    before_ps: f64,
    now_ps: f64,
    /// Runs of the baseline.
    runs: usize,
    /// Whether more than steps tell is known to differ between them.
    runs_differ: bool,
    ops: Regressions,
    tables: Vec<Table>,
    anyway: bool,
    status: Status,
}

impl Against {
    /// Holds a run against its baseline, of which there is a run at least: as `compare` does, steps of all its runs together, and with
    /// what they differ by. Facts, metrics and ops are those of the first run, facts of another where that is not comparable.
    ///
    /// # Errors
    /// [`Error::Nothing`] where one of both has no ops.
    pub(super) fn of(
        baselines: &[Source<'_>],
        run: &Source<'_>,
        anyway: bool,
        margin: f64,
    ) -> Result<Self, Error> {
        let b = run.samples()?;
        let all = baselines.iter().map(Source::samples).collect::<Result<Vec<_>, _>>()?;
        let Some((baseline, a)) = baselines.first().zip(all.first()) else {
            return Err(Error::Nothing("there is no baseline".into()));
        };
        let every: Vec<Vec<Fact>> = all.iter().map(|a| comparable::facts(a, b, run.scope)).collect();
        let broken = every.iter().position(|facts| !comparable::are_comparable(facts)).unwrap_or(0);
        let facts = every.into_iter().nth(broken).unwrap_or_default();
        let usual = |a: &RunSamples<'_>| -> Vec<f64> {
            a.steps.iter().filter(|step| step.class != StepClass::WarmUp).map(|step| step.time_ps).collect()
        };
        let each: Vec<Vec<f64>> = all.iter().map(|a| usual(a)).collect();
        let between = Between::of(&each.iter().map(Vec::as_slice).collect::<Vec<_>>());
        let mut steps: Vec<StepTime> = all.iter().flat_map(|a| a.steps.iter().copied()).collect();
        // Warm-up stands at the start of a series.
        steps.sort_by_key(|step| step.class != StepClass::WarmUp);
        let said =
            StepVerdict::of(&steps, &b.steps, Terms { margin, between, baseline_runs: baselines.len() });
        let is_comparable = anyway || comparable::are_comparable(&facts);
        let both = metrics::table(baseline.metrics()?, run.metrics()?, is_comparable);
        let ops = if is_comparable { Regressions::of(a, b, said.clone()) } else { Regressions::default() };
        Ok(Self {
            said: if is_comparable { said } else { said.not_comparable(String::new()) },
            before_ps: mean(&steps.iter().map(|step| step.time_ps).collect::<Vec<_>>()),
            now_ps: b.mean_ps(),
            runs: baselines.len(),
            runs_differ: between.is_some(),
            ops,
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
        let mut all = facts::findings(&self.facts, self.anyway);
        all.extend(self.ops.slower.iter().take(TOLD_OPS).cloned());
        all
    }

    /// That no op got slower, where that is asked.
    pub(super) fn judge_ops(&self, is_asked: bool, allow_unknown: bool) -> Option<(Judged, Numbers)> {
        if !is_asked || !self.is_comparable() {
            return None;
        }
        let (slower, undecided) = (&self.ops.slower, &self.ops.undecided);
        let outcome = match (slower.is_empty(), undecided.is_empty()) {
            (false, _) => Outcome::Fail,
            (true, false) => Outcome::Unknown,
            (true, true) => Outcome::Pass,
        };
        let few = |names: Vec<&str>| {
            let more = names.len().saturating_sub(TOLD_OPS);
            let named = names.iter().take(TOLD_OPS).copied().collect::<Vec<_>>().join(", ");
            if more > 0 { format!("{named} and {more} more") } else { named }
        };
        let why = match outcome {
            Outcome::Fail => few(slower.iter().map(|finding| finding.claim.as_str()).collect()),
            Outcome::Unknown => format!(
                "Undecided: a loss of more than 0.5% of a step is neither shown nor ruled out for {}",
                few(undecided.iter().map(String::as_str).collect())
            ),
            Outcome::Pass => "no op takes longer by more than 0.5% of a step, beyond chance".to_owned(),
        };
        let asked = "none slower".to_owned();
        let judged = Judged {
            what: "no op slower than in the baseline".to_owned(),
            outcome,
            may_be_unknown: allow_unknown,
            against_baseline: true,
            why,
            speedup: None,
            seen_in: "ops",
        };
        let numbers = Numbers {
            metric: "ops".to_owned(),
            asked,
            unit: Unit::Count,
            limit: Some(0.0),
            baseline: None,
            value: Some(slower.len() as f64),
            interval: None,
        };
        Some((judged, numbers))
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
        all.push(Value::new(
            "step_verdict_says",
            "In words",
            Some(values::words(&self.said)),
            Unit::None,
            status,
            "The same as a sentence: changed and by how much, the same, or undecided and what would decide it.",
        ));
        all.extend(values::of_difference(&self.said, status));
        let count =
            |id, label, n: usize, doc| Value::new(id, label, Some(n), Unit::Count, Status::Derived, doc);
        all.push(count("baseline_runs", "Runs, baseline", self.runs, "Runs that form the baseline."));
        all.push(count(
            "ops_slower",
            "Ops slower",
            self.ops.slower.len(),
            "Ops of both runs that take longer, beyond chance and by more than 0.5% of a step.",
        ));
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
        let (outcome, word) = self.decide(tolerance);
        let mut why = format!("{word}; {}", said.why);
        if let Some(test) = said.test {
            let (low, high) = (words(test.low, Unit::Ps), words(test.high, Unit::Ps));
            why += &format!("; between {low} and {high} at 95%");
        }
        if self.runs > 1 {
            let differ = if self.runs_differ {
                "and their difference counts"
            } else {
                "that differ no more than their steps"
            };
            why += &format!("; {} runs of the baseline, {differ}", self.runs);
        }
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

    /// What becomes of the gate, and the word for it. Without a tolerance the verdict of `compare` decides; with one the
    /// interval of the difference, and each kind of evidence by itself.
    fn decide(&self, tolerance: f64) -> (Outcome, String) {
        let said = &self.said;
        let outcome = match said.verdict {
            Verdict::Faster => Outcome::Pass,
            _ if tolerance > 0.0 => return self.decide_within(tolerance),
            Verdict::Unchanged => Outcome::Pass,
            Verdict::Slower => Outcome::Fail,
            Verdict::Undecided | Verdict::NotComparable => Outcome::Unknown,
        };
        (outcome, values::words(said))
    }

    fn decide_within(&self, tolerance: f64) -> (Outcome, String) {
        let said = &self.said;
        let (limit, most) = (tolerance * self.before_ps, words(tolerance, Unit::Share));
        // The lower end of each interval, and what is told without one.
        let sure = [said.test, said.usual_shift].into_iter().flatten().map(|test| test.low);
        let told = said.few.filter(|few| few.is_told).map(|few| few.delta_ps);
        let told = told.into_iter().chain(said.onset.map(|onset| onset.delta_ps));
        let told = if said.verdict == Verdict::Slower { told.fold(f64::MIN, f64::max) } else { f64::MIN };
        if said.verdict == Verdict::Slower && sure.fold(f64::MIN, f64::max) > limit {
            return (Outcome::Fail, format!("{}, more than {most}", values::words(said)));
        }
        if told > limit {
            let more = words(told, Unit::Ps);
            return (
                Outcome::Fail,
                format!("{}, and a change that is shown adds {more}, more than {most}", values::words(said)),
            );
        }
        let high = said
            .same_ps
            .map(|(_, high)| high)
            .filter(|_| said.baseline_steps.min(said.experiment_steps) >= LEAST_STEPS);
        match high {
            Some(high) if high <= limit && said.few.is_none_or(|few| few.delta_ps <= limit) => (
                Outcome::Pass,
                format!("Slower by no more than {most}: the interval ends at {}", words(high, Unit::Ps)),
            ),
            Some(_) => (Outcome::Unknown, format!("Undecided: the interval straddles the {most} limit")),
            None => (Outcome::Unknown, values::words(said)),
        }
    }
}
