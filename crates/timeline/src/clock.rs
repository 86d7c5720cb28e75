//! How far the hosts' clocks are apart, as far as events tell that must have ended together.
//!
//! All participants of a collective leave it when the last of them has come, so that its ends on two hosts are one moment on
//! two clocks. Nothing is shifted by what is found here: it is for showing.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use super::Timeline;
use haloscope_profile::{Device, HostId, LineKind, Profile, split_label};
use haloscope_time::op_meta::{is_async_collective, is_asynchronous, is_collective};
use haloscope_time::stats::{quantile, robust_deviation};

/// What the hosts' clocks say of each other.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct Clock {
    /// All hosts; the first is what the others are held against.
    pub hosts: Vec<HostClock>,
    /// What the numbers mean and what would make them wrong.
    pub note: &'static str,
}

/// One host's clock.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct HostClock {
    /// The host.
    pub host: String,
    /// How far its events stand behind those of the first host that ended at the same moment, picoseconds; `None` where nothing ties
    /// the two.
    pub offset_ps: Option<i64>,
    /// The spread of the samples: their median absolute deviation times 1.4826, 1 ns at least; `None` likewise, and 0 for the
    /// first host.
    pub uncertainty_ps: Option<i64>,
    /// Number of pairs of events.
    pub samples: usize,
    /// How it was found.
    pub method: &'static str,
}

const NOTE: &str = "The offset is the median, over pairs of events that must end together, of the end on this host less the end \
    on the first; the uncertainty is the spread of the pairs. Nothing on the timeline is shifted by it. It does not suffer from stragglers, \
    who arrive late at a collective but leave it with the others. It is wrong where the pairs do not end together: \
    collectives in groups that do not span both hosts, a last participant that leaves before the others have its data, \
    executions that end without a collective, step numbers that two hosts count differently, and clocks that drift \
    during the capture, which show as a large uncertainty.";

/// Fewer pairs than this say nothing about their spread.
const FEWEST: usize = 3;
/// Lines begin at whole nanoseconds: no clock is known better than that.
const RESOLUTION_PS: f64 = 1e3;
/// More collectives of one device than this add nothing.
const MOST: usize = 20_000;

/// An execution of a program, as several hosts know it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Execution {
    /// Module and `run_id`.
    Run(String, u64),
    /// Step number.
    Step(i64),
}

/// Ends of what recurs in an execution, in order, by execution and op.
type Ends<'a> = FxHashMap<(Execution, Cow<'a, str>), Vec<i64>>;

/// What ties a host to others, best first.
#[derive(Debug, Default)]
struct Ties<'a> {
    collectives_by_run: Ends<'a>,
    collectives_by_step: Ends<'a>,
    executions: Ends<'a>,
}

impl Timeline {
    /// How far the hosts' clocks are apart.
    #[must_use]
    pub fn clock(&self) -> Clock {
        let ids = (0..self.profile.hosts.len() as u32).map(HostId);
        let ties: Vec<Ties<'_>> = ids.map(|host| self.ties(host)).collect();
        let row = |(i, host): (usize, &haloscope_profile::Host)| {
            let found = match i {
                0 => HostClock::new(Some((0, 0)), 0, "the reference clock"),
                _ => estimate(&ties[0], &ties[i]),
            };
            HostClock { host: host.name.clone(), ..found }
        };
        Clock { hosts: self.profile.hosts.iter().enumerate().map(row).collect(), note: NOTE }
    }

    /// What the first device of a host tells.
    fn ties(&self, host: HostId) -> Ties<'_> {
        let mut ties = Ties::default();
        let first = self.profile.devices.iter().find(|d| d.host == host && d.active);
        let Some(device) = first else { return ties };
        let runs = runs(&self.profile, device);
        for (_, end, execution) in &runs {
            ties.executions.entry((execution.clone(), Cow::Borrowed(""))).or_default().push(*end);
        }
        ties.collectives_by_run = self.collectives(device, &runs);
        let steps = self.kept.steps(&self.profile);
        // Steps that are counted from the start of each capture would tie one host's first step to another's third.
        if !steps.source.is_inferred() {
            let of_device = steps.rows.iter().filter_map(|s| Some((s.number, s.on(device.id)?)));
            let mut steps: Vec<_> =
                of_device.map(|(number, i)| (i.start_ps, i.end_ps, Execution::Step(number))).collect();
            steps.sort_by_key(|step| step.0);
            ties.collectives_by_step = self.collectives(device, &steps);
        }
        ties
    }

    /// Ends of a device's collectives by execution and op.
    fn collectives(&self, device: &Device, executions: &[(i64, i64, Execution)]) -> Ends<'_> {
        let mut ends = Ends::default();
        if executions.is_empty() {
            return ends;
        }
        let ops = self.kept.ops(&self.profile, device);
        let ties = |meta: &haloscope_time::op_meta::OpMeta<'_>| {
            let (category, name) = (&*meta.category, &*meta.name);
            let stem = name.split('.').next().unwrap_or_default();
            // The done of an asynchronous collective may come long after the others had what it waits for.
            let is_async = is_asynchronous(category) || is_asynchronous(stem) || is_async_collective(name);
            !is_async && (is_collective(category, name) || is_collective(stem, ""))
        };
        let of_row: Vec<bool> = ops.ops.iter().map(|(meta, _)| ties(meta)).collect();
        let mut found = 0;
        for (line, rows) in ops.lines(&self.profile) {
            let events = self.profile.events(line);
            for (index, meta) in events.metas().iter().enumerate() {
                let row = rows.at(index, *meta) as usize;
                if !of_row.get(row).is_some_and(|ties| *ties) || found >= MOST {
                    continue;
                }
                let event = events.get(index);
                let after = executions.partition_point(|e| e.0 <= event.start_ps);
                let Some((_, end, execution)) = after.checked_sub(1).map(|i| &executions[i]) else {
                    continue;
                };
                if event.end_ps <= *end {
                    found += 1;
                    let name = Cow::Borrowed(&*ops.ops[row].0.name);
                    ends.entry((execution.clone(), name)).or_default().push(event.end_ps);
                }
            }
        }
        ends
    }
}

impl HostClock {
    fn new(found: Option<(i64, i64)>, samples: usize, method: &'static str) -> Self {
        let (offset_ps, uncertainty_ps) = (found.map(|f| f.0), found.map(|f| f.1));
        Self { host: String::new(), offset_ps, uncertainty_ps, samples, method }
    }
}

/// Executions of programs on a TPU that the profiler numbered, by start.
pub fn runs(profile: &Profile, device: &Device) -> Vec<(i64, i64, Execution)> {
    let plane = profile.plane(device.plane);
    let Some(run_id) = plane.stat_id("run_id") else { return Vec::new() };
    let source = profile.source_of(plane);
    let mut runs = Vec::new();
    for line in profile.lines_of(plane.id).filter(|l| l.kind == LineKind::XlaModules) {
        let events = profile.events(line);
        for event in events.iter() {
            let id = events.stat(source, event.index, Some(run_id)).and_then(|v| v.as_u64_bits());
            let label = plane.meta_label(source, event.meta);
            let name = split_label(&label).0.to_owned();
            runs.extend(id.map(|id| (event.start_ps, event.end_ps, Execution::Run(name, id))));
        }
    }
    runs.sort_by_key(|run| run.0);
    runs
}

fn estimate(first: &Ties<'_>, other: &Ties<'_>) -> HostClock {
    let ways = [
        (
            &first.collectives_by_run,
            &other.collectives_by_run,
            "ends of the same collectives, by program run",
        ),
        (
            &first.collectives_by_step,
            &other.collectives_by_step,
            "ends of the same collectives, by step number",
        ),
        (&first.executions, &other.executions, "ends of the same program runs"),
    ];
    for (a, b, method) in ways {
        let samples = differences(a, b);
        let count = samples.len();
        if let Some(found) = offset(samples) {
            return HostClock::new(Some(found), count, method);
        }
    }
    HostClock::new(None, 0, "nothing ties this host to the first: they share no numbered run or step")
}

/// The offset that differences of ends show, and its uncertainty, picoseconds; `None` for too few of them.
pub fn offset(mut samples: Vec<f64>) -> Option<(i64, i64)> {
    if samples.len() < FEWEST {
        return None;
    }
    samples.sort_by(f64::total_cmp);
    let median = quantile(&samples, 0.5);
    let spread = robust_deviation(&samples, median).max(RESOLUTION_PS);
    Some((median.round() as i64, spread.round() as i64))
}

/// Ends of the second less ends of the first, where both saw an op as often in an execution.
fn differences(first: &Ends<'_>, second: &Ends<'_>) -> Vec<f64> {
    let pairs =
        first.iter().filter_map(|(key, a)| Some((a, second.get(key).filter(|b| b.len() == a.len())?)));
    pairs.flat_map(|(a, b)| a.iter().zip(b).map(|(a, b)| (b - a) as f64)).collect()
}
