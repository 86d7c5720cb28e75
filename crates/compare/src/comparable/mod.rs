//! Whether two runs did the same work on the same devices, so that their times may be compared; and what else is known to
//! differ between them.

mod environment;
mod program;

use std::collections::BTreeMap;

use super::RunSamples;
use haloscope_report::scope::Scope;
use haloscope_report::units;
use haloscope_time::programs;
use haloscope_time::steps::StepSource;

/// One fact of two runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// Stable id, such as `chip`; facts of the environment are called as the profiler calls them.
    pub id: String,
    /// What it is, in words.
    pub label: String,
    /// That of the baseline; `None` where its profile does not tell.
    pub baseline: Option<String>,
    /// That of the experiment.
    pub experiment: Option<String>,
    /// Whether both are the same.
    pub same: Same,
    /// Whether runs that differ in it did not do the same work.
    pub must_match: bool,
}

/// Whether two runs have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Same {
    /// They have.
    Yes,
    /// They differ.
    No,
    /// One of both does not tell.
    Unknown,
}

impl Same {
    /// The word used in tables.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Yes => "same",
            Self::No => "differs",
            Self::Unknown => "unknown",
        }
    }
}

impl Fact {
    fn of(id: &str, label: &str, must_match: bool, pair: [Option<String>; 2]) -> Self {
        let [baseline, experiment] = pair;
        let same = match (&baseline, &experiment) {
            (Some(a), Some(b)) if a == b => Same::Yes,
            (Some(_), Some(_)) => Same::No,
            _ => Same::Unknown,
        };
        Self { id: id.to_owned(), label: label.to_owned(), baseline, experiment, same, must_match }
    }

    /// Whether it makes the runs incomparable.
    #[must_use]
    pub fn breaks(&self) -> bool {
        self.must_match && self.same == Same::No
    }
}

/// Whether runs with these facts may be compared.
#[must_use]
pub fn are_comparable(facts: &[Fact]) -> bool {
    !facts.iter().any(Fact::breaks)
}

/// Two numbers of FLOPs are the same within this share: steps cut at their edges count parts of ops.
const SAME_FLOPS: f64 = 1e-3;

/// Where steps begin with launches of different programs, steps of which one has so many times the FLOPs of the other are stretches
/// of the run that have nothing to do with each other: a loop in Python launches one program a pass, a scan one in all.
const OTHER_STRETCH: f64 = 1.5;

fn are_other_stretches(flops: [Option<f64>; 2]) -> bool {
    matches!(flops, [Some(a), Some(b)] if a.max(b) > OTHER_STRETCH * a.min(b))
}

/// The facts of two runs, those that must match first.
#[must_use]
pub fn facts(a: &RunSamples<'_>, b: &RunSamples<'_>, scope: &Scope) -> Vec<Fact> {
    let runs = [a, b];
    let named = |name: &str| {
        runs.map(|run| {
            let ranks = programs::by_time(run.profile, Some(&run.selection));
            programs::choose(run.profile, scope, name, ranks).ok().map(|program| &program.decoded.module)
        })
    };
    // Where a profile does not hold the program that both ran, the one that took most time of those that it holds.
    let common =
        program::common(runs).map(|name| named(&name)).filter(|both| both.iter().all(Option::is_some));
    let main = common.unwrap_or_else(|| named(""));
    let job = main.map(|module| module.and_then(program::job));
    let known = job.iter().all(Option::is_some);
    let profiled = runs.map(|run| Some(run.selection.devices.len().to_string()));
    let of = Fact::of;
    let mut all = vec![
        of("chip", "Chip", true, runs.map(|run| Some(run.selection.device_type().into_owned()))),
        of("devices", "Devices of the job", true, job.map(|job| Some(job?.devices().to_string()))),
        of("mesh", "Partitions and replicas", true, job.map(|job| Some(job?.words()))),
        // Where the program does not say how large the job is, those that were profiled are all there is to go by.
        of("devices_profiled", "Devices profiled", !known, profiled),
        program::product_types(runs),
        program::shapes(main),
    ];
    let flops = runs.map(flops_per_step);
    let mut work =
        of("flops_per_step", "FLOPs a step and device", false, flops.map(|flops| Some(units::flops(flops?))));
    if let [Some(a), Some(b)] = flops {
        work.same = if (a - b).abs() <= SAME_FLOPS * a.abs().max(b.abs()) { Same::Yes } else { Same::No };
    }
    all.push(work);
    all.push(of("programs", "Programs", false, runs.map(|run| program::names(run))));
    all.push(of("mesh_axes", "Axes of the mesh", false, main.map(|module| program::axes(module?))));
    all.push(of(
        "hosts",
        "Hosts",
        false,
        runs.map(|run| Some(run.selection.hosts(run.profile).len().to_string())),
    ));
    all.push(of(
        "steps",
        "Steps counted",
        false,
        runs.map(|run| run.has_steps().then(|| run.steps.len().to_string())),
    ));
    let is_launch = |run: &&RunSamples<'_>| matches!(run.source, StepSource::Launches(_));
    let is_other = runs.iter().all(is_launch) && are_other_stretches(flops);
    all.push(of("step_source", "Steps found by", is_other, runs.map(|run| Some(run.source.explain()))));
    all.extend(environment::facts(a.profile, b.profile));
    all
}

/// FLOPs of a step on a device, as the compiler counts them; `None` where no op has a count.
#[must_use]
pub fn flops_per_step(run: &RunSamples<'_>) -> Option<f64> {
    program::per_step(run, |meta| meta.flops)
}

/// Bytes to and from HBM of a step on a device; `None` where no op has a count.
#[must_use]
pub fn hbm_bytes_per_step(run: &RunSamples<'_>) -> Option<f64> {
    program::per_step(run, |meta| meta.hbm_bytes)
}

/// Names with how often each is there, as `2 x a, b`.
fn counted(names: impl IntoIterator<Item = String>) -> Vec<(String, usize)> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for name in names {
        *counts.entry(name).or_default() += 1;
    }
    counts.into_iter().collect()
}

#[cfg(test)]
mod tests;
