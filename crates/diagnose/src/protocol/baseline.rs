//! Step 1: the line that everything later is held against.

use super::super::evidence::Evidence;
use super::{Given, Step, Word};
use haloscope_report::units;
use haloscope_report::{Link, Status, Unit, Value};
use haloscope_time::ops::analysis::Sums;
use haloscope_time::roofline::{Limits, Work};

/// The numbers of the line. Rates and shares are over the active window of one device.
pub(in super::super) struct Baseline {
    /// Time of a step; without steps that of an execution of the program that takes most time, else the active window.
    pub latency_ps: f64,
    /// Which of them.
    pub latency_of: &'static str,
    /// The whole work over the active window.
    pub limits: Limits,
    /// The whole work, summed over devices.
    pub work: Work,
    /// True where the FLOPs or bytes of some op are not known.
    pub is_partial: bool,
}

impl Baseline {
    pub(in super::super) fn of(evidence: &Evidence<'_>) -> Self {
        let sums = Sums::of(evidence.ops());
        let work = Work { time_ps: evidence.active_ps(), ..sums.work() };
        let (latency_ps, latency_of) = latency(evidence);
        Self {
            latency_ps,
            latency_of,
            limits: work.against(&evidence.peaks),
            work,
            is_partial: sums.unknown_ps > 0,
        }
    }

    /// The score of the keep-or-revert loop: utilisation in percent x 100 / latency in milliseconds.
    fn score(&self) -> Option<f64> {
        let share = self.limits.flop_share?;
        (self.latency_ps > 0.0).then(|| share * 100.0 * 100.0 / (self.latency_ps / 1e9))
    }

    /// The share of the active window that neither FLOPs nor bytes explain.
    pub(in super::super) fn gap_share(&self) -> Option<f64> {
        self.limits.gap_ps.filter(|_| self.work.time_ps > 0.0).map(|gap| gap / self.work.time_ps)
    }

    /// The time of a step that neither explains.
    fn gap_ps(&self) -> Option<f64> {
        self.gap_share().map(|share| share * self.latency_ps)
    }

    /// The line as headline values.
    pub(in super::super) fn values(&self, evidence: &Evidence<'_>) -> Vec<Value> {
        let status = if self.is_partial { Status::Estimated } else { Status::Derived };
        let limits = &self.limits;
        let number =
            |id, label, value: Option<f64>, unit, doc| Value::new(id, label, value, unit, status, doc);
        vec![
            number(
                "score",
                "Score",
                self.score(),
                Unit::Ratio,
                "FLOP rate in percent of peak x 100 / latency in milliseconds: a score for loops that keep or revert each change. It rewards latency twice: with the same work, a step twice as fast scores four times as much.",
            ),
            Value::new(
                "latency_ps",
                "Latency",
                Some(self.latency_ps),
                Unit::Ps,
                Status::Measured,
                "Mean time of a step; without steps, of an execution of the program that takes the most time; else the active window. `latency_of` says which.",
            ),
            Value::new(
                "latency_of",
                "Latency of",
                Some(self.latency_of),
                Unit::None,
                Status::Measured,
                "A step, a program execution or the active window.",
            ),
            number(
                "flop_share_of_peak",
                "FLOP rate of peak",
                limits.flop_share,
                Unit::Share,
                "Over the active window, of the device's peak.",
            ),
            number(
                "flop_rate",
                "FLOP rate",
                limits.flop_rate,
                Unit::FlopRate,
                "FLOPs over the active window, of one device.",
            ),
            Value::new(
                "regime",
                "Regime",
                limits.bound.map(|b| b.word()),
                Unit::None,
                status,
                "compute or memory: which limit of the roofline is nearer for all ops together.",
            ),
            number(
                "hbm_share_of_peak",
                "HBM rate of peak",
                limits.hbm_share,
                Unit::Share,
                "Over the active window, of the device's peak.",
            ),
            number(
                "operational_intensity",
                "Operational intensity",
                limits.intensity,
                Unit::FlopPerByte,
                "FLOPs over bytes to and from HBM.",
            ),
            Value::new(
                "ridge_point",
                "Ridge point",
                evidence.peaks.ridge_point(),
                Unit::FlopPerByte,
                Status::Derived,
                "Peak FLOP rate over peak HBM bandwidth.",
            ),
            number(
                "gap_ps",
                "Gap",
                self.gap_ps(),
                Unit::Ps,
                "Latency minus the longer of two times: that of the FLOPs at peak rate and that of the bytes at full bandwidth.",
            ),
            number(
                "gap_share",
                "Gap share",
                self.gap_share(),
                Unit::Share,
                "Gap divided by latency: small under 10%, large over 30%.",
            ),
        ]
    }
}

fn latency(evidence: &Evidence<'_>) -> (f64, &'static str) {
    if let Some(step) = evidence.step_ps() {
        return (step, "a step");
    }
    let launches: Vec<_> =
        evidence.accounts().iter().flatten().flat_map(|account| &account.launches).collect();
    let longest = launches.iter().max_by_key(|launch| launch.end_ps - launch.start_ps);
    if let Some(longest) = longest {
        let same =
            launches.iter().filter(|l| l.module == longest.module).map(|l| (l.end_ps - l.start_ps) as f64);
        let (count, sum) = same.fold((0.0, 0.0), |(n, sum), time| (n + 1.0, sum + time));
        return (sum / count, "a program execution");
    }
    let devices = evidence.accounts().iter().flatten().count().max(1);
    (evidence.active_ps() / devices as f64, "the active window")
}

pub(super) fn step(given: &Given<'_, '_>) -> Step {
    let line = given.baseline;
    let limits = &line.limits;
    let mut words = Vec::new();
    words.extend(line.score().map(|score| format!("score {}", units::number(score))));
    words.push(format!("{} {}", units::duration_ps(line.latency_ps), line.latency_of));
    words.extend(limits.flop_share.map(|share| format!("{} of peak FLOP/s", units::share(share))));
    words.extend(limits.flop_rate.map(units::flop_rate));
    words.extend(limits.bound.map(|bound| format!("{} regime", bound.word())));
    words.extend(limits.hbm_share.map(|share| format!("{} of HBM bandwidth", units::share(share))));
    words.extend(limits.intensity.map(|i| format!("{} FLOP/B", units::number(i))));
    words.extend(line.gap_share().map(|gap| format!("gap {}", units::share(gap))));
    if limits.flop_share.is_none() {
        words.push("utilisation not known: FLOPs or peak are not recorded".into());
    }
    Step {
        question: "What is the baseline?",
        verdict: Word::Stated,
        said: words.join("; "),
        see: vec![Link::to("overview")],
    }
}
