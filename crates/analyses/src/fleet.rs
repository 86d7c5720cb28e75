//! `fleet`: many runs of a place, a row each: how fast, how full, and what is wrong first.
//!
//! A [`Summary`] is what is kept of a run, so that the next question about the same place reads new sessions only. Its numbers are
//! those of the ledger ([`measure`]), its verdict that of `diagnose`: nothing is computed here.

use std::collections::BTreeMap;

use haloscope_profile::{Host, Profile};
use haloscope_report::scope::Scope;
use haloscope_report::{Cell, Error, Report, Status, Table, Unit, Value, row};
use haloscope_time::analysis::{self, Params};
use serde::{Deserialize, Serialize};

use crate::ledger::{Time, measure};

/// The version of what is kept: one of another is computed anew.
pub const VERSION: u32 = 2;

/// What is kept of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The device as the profiler names it.
    pub device_type: Option<String>,
    /// Devices in the profile.
    pub device_count: Option<u64>,
    /// Numbers by the ids of the reports that they come from; what the profile cannot tell is absent.
    pub numbers: BTreeMap<String, f64>,
    /// The first cause of `diagnose`, by its id.
    pub first_cause: Option<String>,
    /// How many times as fast the run could be without it, at most.
    pub first_speedup: Option<f64>,
    /// The sentence that `diagnose` opens with.
    pub verdict: Option<String>,
    /// Versions of the framework, as the profile states them: of hosts with different ones all.
    pub version: Option<String>,
}

/// What profiles call the version of the framework, and what people call it; of a host the first that it states.
const VERSIONS: [(&str, &str); 3] =
    [("jax_version", "JAX"), ("jaxlib_version", "jaxlib"), ("torch_xla_version", "torch_xla")];

/// The versions that the hosts of a run state, each once, in words.
fn version(hosts: &[Host]) -> Option<String> {
    let mut words: Vec<String> = Vec::new();
    for host in hosts {
        let stated = VERSIONS.iter().find_map(|(key, name)| {
            let (_, value) = host.environment.iter().find(|(known, _)| known == key)?;
            Some(format!("{name} {}", value.trim()))
        });
        words.extend(stated.filter(|word| !words.contains(word)));
    }
    words.sort_unstable();
    (!words.is_empty()).then(|| words.join(", "))
}

impl Summary {
    /// The summary of a run.
    ///
    /// # Errors
    /// [`Error`] where the run cannot be looked at at all.
    pub fn of(profile: &Profile) -> Result<Self, Error> {
        let measured = measure(profile)?;
        let known = |(id, metric): (String, crate::ledger::Metric)| Some((id, metric.value?));
        let mut summary = Self {
            device_type: measured.device_type,
            device_count: measured.device_count,
            numbers: measured.metrics.into_iter().filter_map(known).collect(),
            first_cause: None,
            first_speedup: None,
            verdict: None,
            version: version(&profile.hosts),
        };
        let diagnosis =
            analysis::run(&haloscope_diagnose::ANALYSIS, profile, &Scope::default(), &Params::default());
        match diagnosis {
            Ok(report) => {
                let value = |id: &str| report.value(id).map(|value| &value.value);
                let text = |id: &str| value(id).and_then(Cell::as_text).map(str::to_owned);
                summary.first_cause = text("first_cause");
                summary.first_speedup = value("first_speedup").and_then(Cell::number);
                summary.verdict = text("verdict");
            }
            // Numbers without a verdict are worth a row.
            Err(Error::Nothing(_)) => {}
            Err(error) => return Err(error),
        }
        Ok(summary)
    }

    /// The first cause in words, `none found` where there was none; unknown where the run could not be diagnosed.
    fn cause(&self) -> Option<String> {
        match (&self.first_cause, &self.verdict) {
            (Some(id), _) => Some(id.replace('_', " ")),
            (None, Some(_)) => Some("none found".to_owned()),
            (None, None) => None,
        }
    }
}

/// A run of the place.
#[derive(Debug, Clone, PartialEq)]
pub struct FleetRun {
    /// Its name in the listing.
    pub name: String,
    /// When its newest file was written.
    pub time: Time,
    /// Its files, one per host.
    pub hosts: u64,
    /// Size of its files, bytes.
    pub size_bytes: u64,
    /// What is known of it, or why nothing is.
    pub summary: Result<Summary, String>,
}

/// The runs as a report, in the order in which they are given.
#[must_use]
pub fn report(place: &str, runs: &[FleetRun], kept: usize) -> Report {
    let read = runs.iter().filter(|run| run.summary.is_ok()).count();
    let rows = runs.iter().map(|run| {
        let summary = run.summary.as_ref().ok();
        let number = |id: &str| summary.and_then(|summary| summary.numbers.get(id).copied());
        let devices = summary.and_then(|summary| {
            Some(format!("{} {}", summary.device_count?, summary.device_type.as_deref().unwrap_or("devices")))
        });
        row![
            text("run", "Run", "The session, by its path below the folder or bucket.", run.name.as_str()),
            text("time", "Written", "When its newest file was written, UTC.", run.time.to_minute()),
            duration(
                "step_time_mean_ps",
                "Step",
                "Mean step time.",
                number("step_time_mean_ps").map(|ps| ps as i64)
            ),
            share("mfu", "MFU", "FLOPs of the model as a share of what the devices can do.", number("mfu")),
            share(
                "idle_share_of_active_window",
                "Idle",
                "Share of the active window in which devices do nothing.",
                number("idle_share_of_active_window")
            ),
            text(
                "first_cause",
                "First cause",
                "The first cause of `diagnose`; `none found` if it finds none.",
                summary.and_then(Summary::cause)
            ),
            float(
                "first_speedup",
                "Speed-up at most",
                Unit::Ratio,
                "How many times as fast the run could be without it, at most.",
                summary.and_then(|summary| summary.first_speedup)
            ),
            duration(
                "exposed_ps_per_step",
                "Exposed",
                "Communication of a step that no compute hides.",
                number("exposed_ps_per_step").map(|ps| ps as i64)
            ),
            bytes(
                "peak_bytes",
                "Peak memory",
                "The most memory that the program needs.",
                number("peak_bytes").map(|b| b as u64)
            ),
            text("devices", "Devices", "Devices in the profile.", devices),
            text(
                "version",
                "Version",
                "Version of the framework, from the profile.",
                summary.and_then(|summary| summary.version.as_deref())
            ),
            count("hosts", "Hosts", "Its files, one per host.", run.hosts),
            bytes("size_bytes", "Size", "Total size of its files.", run.size_bytes),
            text(
                "verdict",
                "Verdict",
                "The sentence that `diagnose` opens with.",
                summary.and_then(|summary| summary.verdict.as_deref())
            ),
            text(
                "unread",
                "Not read",
                "Why it could not be read.",
                run.summary.as_ref().err().map(String::as_str)
            ),
        ]
    });
    let count =
        |id, label, n: usize, doc| Value::new(id, label, Some(n as u64), Unit::Count, Status::Measured, doc);
    Report {
        analysis: "fleet",
        values: vec![
            Value::new(
                "place",
                "Place",
                Some(place),
                Unit::None,
                Status::Measured,
                "The folder or bucket of the runs.",
            ),
            count("runs", "Runs", runs.len(), "Runs in this answer."),
            count(
                "read_now",
                "Read now",
                read.saturating_sub(kept),
                "Runs that were read for this answer; the others were cached.",
            ),
            count(
                "unread",
                "Not read",
                runs.len() - read,
                "Runs that could not be read; the column `unread` says why.",
            ),
        ],
        tables: vec![Table::of("runs", "Runs, newest first", rows)],
        ..Report::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_said_once_each_and_the_frameworks_own_goes_first() {
        let host = |pairs: &[(&str, &str)]| Host {
            name: "w-0".into(),
            start_ns: None,
            stop_ns: None,
            capture_ps: None,
            base_ps: 0,
            environment: pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
        };
        assert_eq!(version(&[host(&[("process_id", "1")])]), None);
        let new = || host(&[("jaxlib_version", "0.10.1"), ("jax_version", "0.10.2 ")]);
        assert_eq!(version(&[new(), new()]).as_deref(), Some("JAX 0.10.2"));
        let old = host(&[("jaxlib_version", "0.9.0")]);
        assert_eq!(version(&[old, new()]).as_deref(), Some("JAX 0.10.2, jaxlib 0.9.0"));
    }

    #[test]
    fn what_is_not_known_has_no_number_and_what_was_not_read_says_why() {
        let summary = Summary {
            device_type: Some("TPU v5e".into()),
            device_count: Some(4),
            numbers: [("step_time_mean_ps".to_owned(), 2e9)].into(),
            first_cause: Some("late_host".into()),
            first_speedup: Some(1.5),
            verdict: Some("host 1 is late".into()),
            version: Some("JAX 0.10.2".into()),
        };
        let run = |name: &str, summary| FleetRun {
            name: name.into(),
            time: Time::from_unix(0),
            hosts: 2,
            size_bytes: 10,
            summary,
        };
        let report = report("logs", &[run("a", Ok(summary.clone())), run("b", Err("cut".into()))], 1);
        let table = &report.tables[0];
        assert_eq!(table.cell(0, "step_time_mean_ps"), Some(&Cell::Int(2_000_000_000)));
        assert_eq!(table.cell(0, "mfu"), Some(&Cell::Unknown));
        assert_eq!(table.cell(0, "first_cause"), Some(&"late host".into()));
        let of = |cause: Option<&str>, verdict: Option<&str>| {
            let (first_cause, verdict) = (cause.map(str::to_owned), verdict.map(str::to_owned));
            Summary { first_cause, verdict, ..summary.clone() }.cause()
        };
        assert_eq!(of(None, Some("limited by memory")).as_deref(), Some("none found"));
        assert_eq!(of(None, None), None);
        assert_eq!(table.cell(0, "devices"), Some(&"4 TPU v5e".into()));
        assert_eq!(table.cell(0, "version"), Some(&"JAX 0.10.2".into()));
        assert_eq!(table.cell(1, "version"), Some(&Cell::Unknown));
        assert_eq!(table.cell(0, "unread"), Some(&Cell::Unknown));
        assert_eq!(table.cell(1, "unread"), Some(&"cut".into()));
        assert_eq!(table.cell(1, "idle_share_of_active_window"), Some(&Cell::Unknown));
        let value = |id: &str| report.value(id).and_then(|value| value.value.number());
        assert_eq!((value("runs"), value("read_now"), value("unread")), (Some(2.0), Some(0.0), Some(1.0)));
        let line = serde_json::to_string(&summary).unwrap();
        assert_eq!(serde_json::from_str::<Summary>(&line).unwrap(), summary);
    }
}
