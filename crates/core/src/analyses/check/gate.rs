//! The run against its baseline: the verdict of `compare`, asked as a gate asks it.

use super::budget::{Budget, Kind};
use super::outcome::{Judged, Outcome};
use super::quantity::words;
use crate::Error;
use crate::analyses::{self, Params, compare};
use crate::profile::Profile;
use crate::report::{Cell, Notes, Report, Table, Unit, Value};
use crate::scope::Scope;

/// What `compare` says of a run and its baseline.
pub(super) struct Against {
    report: Report,
}

/// Values of `compare` that a gate passes on.
const PASSED_ON: [&str; 12] = [
    "step_delta_ps",
    "step_delta_share",
    "step_delta_interval_ps",
    "step_delta_low_ps",
    "step_delta_high_ps",
    "step_delta_p",
    "step_delta_rank_p",
    "verdict_why",
    "noise_floor_ps",
    "noise_floor_share",
    "baseline_steps",
    "experiment_steps",
];

impl Against {
    /// Compares a run with its baseline.
    ///
    /// # Errors
    /// As `compare`.
    pub(super) fn of(
        baseline: &Profile,
        run: &Profile,
        scope: &Scope,
        anyway: &str,
        notes: &mut Notes,
    ) -> Result<Self, Error> {
        let mut params = Params::default();
        params.set("anyway", anyway);
        let report = analyses::run_with(&compare::ANALYSIS, baseline, &[run], scope, &params)?;
        report.quality.iter().for_each(|note| notes.push(note.clone()));
        Ok(Self { report })
    }

    fn word(&self) -> &str {
        self.report.value("verdict").and_then(|v| v.value.as_text()).unwrap_or_default()
    }

    fn number(&self, id: &str) -> Option<f64> {
        self.report.value(id)?.value.number()
    }

    /// Whether both are of one piece of work on one machine.
    pub(super) fn is_comparable(&self) -> bool {
        self.word() != "not comparable"
    }

    /// What differs that makes them incomparable: `batch: 16 against 32`.
    pub(super) fn differences(&self) -> Vec<String> {
        let Some(facts) = self.report.table("facts") else { return Vec::new() };
        let text = |row: usize, id: &str| match facts.cell(row, id) {
            Some(Cell::Text(text)) => text.clone(),
            Some(cell) => cell.number().map_or_else(|| "unknown".into(), |n| n.to_string()),
            None => String::new(),
        };
        let breaks = |row: &usize| {
            facts.cell(*row, "breaks") == Some(&Cell::Flag(true)) || text(*row, "breaks") == "yes"
        };
        let differs = |row: &usize| text(*row, "same") == "differs";
        let rows = (0..facts.rows.len()).filter(breaks).filter(differs);
        rows.map(|row| {
            format!("{}: {} against {}", text(row, "what"), text(row, "baseline"), text(row, "experiment"))
        })
        .collect()
    }

    /// The tables of `compare` that a gate shows.
    pub(super) fn tables(&self) -> Vec<Table> {
        ["metrics", "facts"].iter().filter_map(|id| self.report.table(id).cloned()).collect()
    }

    /// The values of `compare` that a gate passes on.
    pub(super) fn values(&self) -> impl Iterator<Item = Value> + '_ {
        self.report.values.iter().filter(|value| PASSED_ON.contains(&value.id)).cloned()
    }

    /// Whether the step time got worse: the verdict of `compare`, which a slow-down of no more than `tolerance` (a share of
    /// the baseline) does not fail. `None` where a budget says how much slower a step may be: then that decides.
    pub(super) fn judge(&self, budgets: &[Budget], tolerance: f64, allow_unknown: bool) -> Option<Judged> {
        let says_more = |b: &Budget| {
            matches!(b.metric.as_str(), "step_time" | "step_time_mean_ps" | "overview.step_time_mean_ps")
                && b.kind == Kind::MaxIncrease
        };
        if !self.is_comparable() || budgets.iter().any(says_more) {
            return None;
        }
        let (delta, share) = (self.number("step_delta_ps"), self.number("step_delta_share"));
        let baseline = self.number("baseline_step_ps");
        let ps = |v: f64| words(v, Unit::Ps);
        let moved = delta.zip(share).map_or_else(String::new, |(delta, share)| {
            let sign = if delta < 0.0 { "" } else { "+" };
            let interval = self.number("step_delta_low_ps").zip(self.number("step_delta_high_ps"));
            let interval = interval
                .map_or_else(String::new, |(low, high)| format!(", between {} and {}", ps(low), ps(high)));
            format!(": {sign}{} a step ({sign}{}){interval}", ps(delta), words(share, Unit::Share))
        });
        let (outcome, why) = match self.word() {
            "slower" if share.is_some_and(|share| share <= tolerance) => (
                Outcome::Pass,
                format!(
                    "slower, but by no more than the {} that may be{moved}",
                    words(tolerance, Unit::Share)
                ),
            ),
            "slower" => (Outcome::Fail, format!("slower than the baseline{moved}")),
            "faster" => (Outcome::Pass, format!("faster than the baseline{moved}")),
            "unchanged" => {
                let floor = self.number("noise_floor_ps");
                let floor = floor.map_or_else(String::new, |f| {
                    format!("; less than {} would not have been told from noise", ps(f))
                });
                (Outcome::Pass, format!("no difference that is more than noise{moved}{floor}"))
            }
            "" => (Outcome::Unknown, "`compare` gave no verdict".into()),
            other => (Outcome::Unknown, format!("{other}{moved}: capture more steps of each run")),
        };
        let around = |id: &str| baseline.zip(self.number(id)).map(|(base, moved)| base + moved);
        let asked = if tolerance > 0.0 {
            format!("at most {} slower", words(tolerance, Unit::Share))
        } else {
            "no slower".to_owned()
        };
        let cells = vec![
            "step_time".into(),
            asked.as_str().into(),
            outcome.word().into(),
            "ps".into(),
            baseline.map(|base| base * (1.0 + tolerance)).into(),
            baseline.into(),
            around("step_delta_ps").into(),
            around("step_delta_low_ps").into(),
            around("step_delta_high_ps").into(),
            why.as_str().into(),
        ];
        let speedup = baseline.zip(delta).filter(|_| outcome == Outcome::Fail);
        Some(Judged {
            what: format!("step_time {asked} than the baseline"),
            outcome,
            may_be_unknown: allow_unknown,
            against_baseline: true,
            why,
            speedup: speedup.filter(|(base, _)| *base > 0.0).map(|(base, delta)| (base + delta) / base),
            seen_in: "compare",
            cells,
        })
    }
}
