//! The metrics that a check may name: where each comes from, its unit, and its samples where a run has several.

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use regex::Regex;

use super::reading::{Reading, Spread};
use super::{device_time, kernels};
use crate::RunSamples;
use crate::analysis::metrics::{self, Metric};
use haloscope_profile::Profile;
use haloscope_report::Error;
use haloscope_report::scope::Scope;
use haloscope_report::{Cell, Notes, Report, Unit, Value};
use haloscope_time::select::Scoped;
use haloscope_time::stats::Summary;
use haloscope_time::steps::Steps;
use haloscope_time::{
    analysis::{self as analyses, Others, Params},
    steps::analysis as steps,
};

/// Metrics with a short name, and what each is.
pub(super) const OWN: &[(&str, &str)] = &[
    ("step_time", "mean time of the counted steps on the slowest device"),
    ("step_time_p50", "their median"),
    ("step_time_p90", "their 90th percentile"),
    (
        "latency",
        "median time of one execution on the device: of the program that takes the most time, or of --kernel",
    ),
];

/// A run whose metrics are asked for. Each analysis runs once.
pub(super) struct Source<'a> {
    pub asked: &'a Scoped<'a>,
    pub profile: &'a Profile,
    pub scope: &'a Scope,
    /// Which ops `latency` is about.
    pub kernel: Option<&'a Regex>,
    find: super::Find,
    samples: OnceCell<Result<RunSamples<'a>, String>>,
    metrics: OnceCell<Vec<Metric>>,
    reports: RefCell<BTreeMap<&'static str, Rc<Result<Report, Error>>>>,
}

impl<'a> Source<'a> {
    pub(super) fn new(asked: &'a Scoped<'a>, kernel: Option<&'a Regex>, find: super::Find) -> Self {
        let (profile, scope) = (asked.profile, &asked.scope);
        Self {
            asked,
            profile,
            scope,
            kernel,
            find,
            samples: OnceCell::new(),
            metrics: OnceCell::new(),
            reports: RefCell::default(),
        }
    }

    /// What the run took in every step.
    ///
    /// # Errors
    /// [`Error::Nothing`] where it has no ops.
    pub(super) fn samples(&self) -> Result<&RunSamples<'a>, Error> {
        // What is missing is remarked on by the analysis as a whole.
        let of = || RunSamples::of(self.asked, &mut Notes::default()).map_err(|why| why.to_string());
        self.samples.get_or_init(of).as_ref().map_err(|why| Error::Nothing(why.clone()))
    }

    /// The metrics of `compare`.
    ///
    /// # Errors
    /// As [`Source::samples`].
    pub(super) fn metrics(&self) -> Result<&[Metric], Error> {
        let samples = self.samples()?;
        Ok(self.metrics.get_or_init(|| metrics::of(samples, self.scope)))
    }

    /// The metric with this id. What the profile does not tell is unknown, with the reason.
    ///
    /// # Errors
    /// [`Error::Usage`] for an id that no metric has, with those that there are.
    pub(super) fn read(&self, id: &str) -> Result<Reading, Error> {
        if let Some(of_kernel) = kernels::read(self.asked, id) {
            return of_kernel;
        }
        match id {
            "step_time" | "step_time_p50" | "step_time_p90" => Ok(self.step_time(id)),
            "latency" => Ok(self.latency()),
            _ => match (id.rsplit_once('.'), self.metrics().ok().and_then(|all| metrics::find(all, id))) {
                (Some((analysis, value)), _) => self.value_of(id, analysis, value),
                (None, Some(metric)) => Ok(of_metric(metric)),
                (None, None) => self.value_of(id, "overview", id),
            },
        }
    }

    fn step_time(&self, id: &str) -> Reading {
        let found = self.asked.selection().map(|selection| {
            let mut found = Steps::find(self.profile, &selection.devices);
            found.rows.retain(|step| steps::in_scope(step, self.scope));
            found
        });
        let (samples, about) = match &found {
            Ok(found) => (found.durations(), found.source.explain()),
            Err(why) => (Vec::new(), why.to_string()),
        };
        let summary = Summary::of(&samples);
        let (value, spread) = match id {
            "step_time" => (summary.map(|s| s.mean), Spread::Mean(samples)),
            "step_time_p50" => (summary.map(|s| s.p50), Spread::Median(samples)),
            _ => (summary.map(|s| s.p90), Spread::Once),
        };
        let spread = if value.is_some() { spread } else { Spread::Once };
        Reading {
            id: id.to_owned(),
            unit: Unit::Ps,
            value,
            text: None,
            spread,
            about,
            seen_in: "steps",
            each: Vec::new(),
        }
    }

    fn latency(&self) -> Reading {
        let found = device_time::of(self.asked, self.kernel);
        let (samples, about) = match found {
            Ok(found) => (found.spans_ps, found.what),
            Err(why) => (Vec::new(), why.to_string()),
        };
        let value = Summary::of(&samples).map(|s| s.p50);
        let spread = if value.is_some() { Spread::Median(samples) } else { Spread::Once };
        Reading {
            id: "latency".into(),
            unit: Unit::Ps,
            value,
            text: None,
            spread,
            about,
            seen_in: "ops",
            each: Vec::new(),
        }
    }

    /// The report of an analysis, asked once.
    fn report(&self, analysis: &'static analyses::Analysis) -> Rc<Result<Report, Error>> {
        let mut reports = self.reports.borrow_mut();
        let answer = reports
            .entry(analysis.id)
            .or_insert_with(|| Rc::new(analyses::run_scoped(analysis, self.asked, &[], &Params::default())));
        Rc::clone(answer)
    }

    fn value_of(&self, id: &str, analysis: &str, value_id: &str) -> Result<Reading, Error> {
        // Those that take a baseline or other runs answer another question; `check` would never end.
        let found = (self.find)(analysis).filter(|a| !matches!(a.others(), Others::Many | Others::Baseline));
        let Some(analysis) = found else {
            return Err(unknown_metric(id, &format!("`{analysis}` is not an analysis of one run")));
        };
        let unknown = |why: String| Reading {
            id: id.to_owned(),
            unit: Unit::None,
            value: None,
            text: None,
            spread: Spread::Once,
            about: why,
            seen_in: analysis.id,
            each: Vec::new(),
        };
        match &*self.report(analysis) {
            Ok(report) => match report.value(value_id) {
                Some(value) => Ok(of_value(id, value, analysis.id)),
                None => {
                    let known: Vec<_> = report.values.iter().map(|v| v.id).collect();
                    Err(unknown_metric(id, &format!("`{}` gives: {}", analysis.id, known.join(", "))))
                }
            },
            Err(Error::Usage(why)) => Err(Error::Usage(format!("`{id}`: {why}"))),
            Err(why) => Ok(unknown(format!("`{}` has no answer: {why}", analysis.id))),
        }
    }
}

fn of_metric(metric: &Metric) -> Reading {
    let mut reading = of_value(metric.id, &metric.to_value(), "compare");
    if reading.value.is_some() && !metric.samples.is_empty() {
        reading.spread = Spread::Mean(metric.samples.clone());
    }
    reading
}

fn of_value(id: &str, value: &Value, seen_in: &'static str) -> Reading {
    let text = value.value.as_text().map(str::to_owned);
    let about = if value.value == Cell::Unknown {
        format!("the profile does not say: {}", value.doc)
    } else {
        value.doc.to_owned()
    };
    let number = value.value.number();
    Reading {
        id: id.to_owned(),
        unit: value.unit,
        value: number,
        text,
        spread: Spread::Once,
        about,
        seen_in,
        each: Vec::new(),
    }
}

/// An id that no metric has.
fn unknown_metric(id: &str, why: &str) -> Error {
    let own: Vec<_> = OWN.iter().map(|(id, _)| *id).collect();
    Error::Usage(format!(
        "there is no metric `{id}`: {why}. A metric is one of {}, one of `compare` or `overview` by its id, or one of another \
         analysis with that before a dot, such as memory-peak.peak_bytes or comm.exposed_ps_per_step; or of a TPU kernel one of {}",
        own.join(", "),
        kernels::names()
    ))
}
