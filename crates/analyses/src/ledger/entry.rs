//! One line of a ledger.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value as Json;

use super::Time;
use haloscope_report::Status;

/// The version of the lines that are written. A line of a later one is left out, and named.
pub const VERSION: u32 = 1;

/// Whole numbers below this are exact as 64-bit floats.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// What is kept of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The version of the line: [`VERSION`].
    #[serde(rename = "ledger")]
    pub version: u32,
    /// When the entry was made.
    pub time: Time,
    /// The run as people call it, such as `train/2026_11_22_10_45_12`.
    pub run: String,
    /// The session's name, by which a server over the log folder knows the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The commit that ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The branch it was on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Whether files under version control differed from the commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dirty: Option<bool>,
    /// The device as the profiler names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_type: Option<String>,
    /// Devices in the profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_count: Option<u64>,
    /// Numbers by their ids.
    #[serde(default)]
    pub metrics: BTreeMap<String, Metric>,
    /// What `compare` said of the run and a baseline, where one was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<Against>,
    /// What was done with the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// What its writer wanted to remember.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Words of the writer's own, to tell series apart: model, machine, job.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// What this version does not know; it is kept.
    #[serde(flatten)]
    pub rest: BTreeMap<String, Json>,
}

/// A number of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// The number; `None` where it is not known.
    #[serde(serialize_with = "plain_option")]
    pub value: Option<f64>,
    /// Its unit: `ps`, `B`, `FLOP`, `FLOP/s`, `B/s`, `share`, `count` or `ratio`.
    pub unit: String,
    /// How it is known.
    #[serde(with = "status")]
    pub status: Status,
    /// What it was in each step, in short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<Samples>,
    /// What this version does not know; it is kept.
    #[serde(flatten)]
    pub rest: BTreeMap<String, Json>,
}

/// Samples in short.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Samples {
    /// How many.
    pub n: u64,
    /// Their mean.
    #[serde(serialize_with = "plain")]
    pub mean: f64,
    /// Their standard deviation (n - 1); `None` for one.
    #[serde(default, serialize_with = "plain_option")]
    pub sd: Option<f64>,
}

/// What `compare` said of a run and a baseline.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Against {
    /// The baseline as people call it.
    pub run: String,
    /// `faster`, `slower`, `unchanged`, `undecided` or `not comparable`.
    pub verdict: String,
    /// The run's step time less the baseline's, picoseconds.
    #[serde(default, serialize_with = "plain_option")]
    pub delta_ps: Option<f64>,
    /// The lower end of its 95% interval.
    #[serde(default, serialize_with = "plain_option")]
    pub low_ps: Option<f64>,
    /// The upper end.
    #[serde(default, serialize_with = "plain_option")]
    pub high_ps: Option<f64>,
    /// What this version does not know; it is kept.
    #[serde(flatten)]
    pub rest: BTreeMap<String, Json>,
}

/// What was done with a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// It stayed.
    Keep,
    /// It was taken back.
    Revert,
}

impl Decision {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::Revert => "revert",
        }
    }
}

impl Entry {
    /// An entry of a run without anything else.
    #[must_use]
    pub fn new(time: Time, run: impl Into<String>) -> Self {
        Self {
            version: VERSION,
            time,
            run: run.into(),
            session: None,
            commit: None,
            branch: None,
            dirty: None,
            device_type: None,
            device_count: None,
            metrics: BTreeMap::new(),
            against: None,
            decision: None,
            note: None,
            labels: BTreeMap::new(),
            rest: BTreeMap::new(),
        }
    }

    /// The number of a metric, where it is known.
    #[must_use]
    pub fn value(&self, metric: &str) -> Option<f64> {
        self.metrics.get(metric)?.value.filter(|v| v.is_finite())
    }

    /// The samples of a metric, where there are at least two.
    #[must_use]
    pub fn samples(&self, metric: &str) -> Option<Samples> {
        let samples = self.metrics.get(metric)?.samples?;
        (samples.n >= 2 && samples.sd.is_some()).then_some(samples)
    }

    /// Whether it has all of these labels.
    #[must_use]
    pub fn has(&self, labels: &BTreeMap<String, String>) -> bool {
        labels.iter().all(|(key, value)| self.labels.get(key) == Some(value))
    }

    /// The entry as one line with its end.
    #[must_use]
    pub fn to_line(&self) -> String {
        // Serialising to a string fails only for maps with keys that are not strings, and there are none.
        let mut line = serde_json::to_string(self).unwrap_or_default();
        line.push('\n');
        line
    }
}

/// Whole numbers without a point, so that a line reads as its numbers are meant.
fn plain<S: Serializer>(v: &f64, s: S) -> Result<S::Ok, S::Error> {
    if v.fract() == 0.0 && v.abs() < EXACT { s.serialize_i64(*v as i64) } else { s.serialize_f64(*v) }
}

fn plain_option<S: Serializer>(v: &Option<f64>, s: S) -> Result<S::Ok, S::Error> {
    match v {
        Some(v) => plain(v, s),
        None => s.serialize_none(),
    }
}

mod status {
    use super::{Deserialize, Deserializer, Serializer, Status};

    pub(super) fn serialize<S: Serializer>(status: &Status, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(status.word())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Status, D::Error> {
        let word = String::deserialize(d)?;
        let all = [Status::Measured, Status::Derived, Status::Estimated];
        Ok(all.into_iter().find(|s| s.word() == word).unwrap_or(Status::Unknown))
    }
}
